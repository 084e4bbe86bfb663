"""Every command, run as a user runs it."""

import json
import os
import re
import subprocess

import pytest

from codegym.runs import open_run

ID = "CodeGym/FixTests-v0"
COMMANDS = [
    ("demo",),
    ("run",),
    ("replay",),
    ("restore",),
    ("doctor",),
    ("audit",),
    ("bench",),
    ("tasks", "list"),
    ("tasks", "show"),
    ("environment", "list"),
    ("cache", "show"),
    ("cache", "prune"),
]


def one_object(ran) -> dict:
    """All of stdout is one JSON object."""
    value = json.loads(ran.out)
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help(codegym, command):
    ran = codegym(*command, "--help")
    assert (ran.status, ran.err) == (0, "")
    assert " ".join(command) in ran.out


def test_version(codegym):
    ran = codegym("--version")
    assert ran.out.startswith("codegym ")


def test_run_json(codegym, tmp_path):
    ran = codegym("run", ID, "--tasks", "tiny", "--policy", "noop", "--out", tmp_path, "--json")
    assert ran.status == 0, ran.err
    summary = one_object(ran)
    assert summary["solve_rate"] == 0.0
    assert (summary["episodes"], summary["faults"], summary["solved"]) == (2, 0, 0)
    assert summary["ci95"][0] == 0.0
    assert 0 < summary["ci95"][1] < 1


def test_run_resumes_and_tells(codegym, recorded):
    ran = codegym("run", ID, "--tasks", "tiny", "--policy", "oracle", "--out", recorded)
    assert ran.status == 0
    assert "solved 2 of 2: 100.0%" in ran.out
    assert "resuming: 2 of 2 episodes are done" in ran.err


def test_run_tells_of_broken_tasks_and_exits_1(codegym, home, tmp_path):
    rows = (home / ".codegym/environments/tiny/tasks.jsonl").read_text().splitlines()
    broken = json.loads(rows[0])
    broken["patch"] = broken["patch"].replace("sorted", "shuffled")
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(broken)}\n{rows[1]}\n")
    arguments = ("run", ID, "--tasks", tmp_path / "rows.jsonl", "--policy", "noop")
    ran = codegym(*arguments, "--out", tmp_path / "run")
    assert ran.status == 1, ran.err
    assert "solved 0 of 1" in ran.out
    assert "1 not counted: 1 by broken tasks\n" in ran.out
    assert re.search(r"\n  tiny-0: .*the hunk does not match", ran.out), ran.out
    ran = codegym(*arguments, "--out", tmp_path / "run", "--json")
    assert ran.status == 1
    assert one_object(ran)["task_faults"] == 1
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(broken)}\n")
    out = tmp_path / "o ut ☃"
    ran = codegym(*arguments, "--out", out)
    assert f"codegym replay '{out}' --episode 0" in ran.out, "it can be pasted into a shell"
    assert ran.status == 1
    assert "no episode was graded" in ran.out


def test_replay(codegym, recorded):
    ran = codegym("replay", recorded, "--episode", "1")
    assert ran.status == 0, ran.err
    assert "tiny-1" in ran.out
    assert re.search(r"^policy oracle \(\S+\), seed \d+$", ran.out, re.MULTILINE)
    assert "write src/tinycalc/order.py" in ran.out
    assert "score 1" in ran.out
    assert "+    middle = len(ordered) // 2" in ran.out


def test_replay_of_nothing(codegym, recorded, tmp_path):
    ran = codegym("replay", recorded, "--episode", "7")
    assert ran.status == 2
    assert ran.err.strip() == (f"codegym: no finished episode named '7'; {recorded} has 2 (0 to 1)")
    ran = codegym("replay", tmp_path)
    assert (ran.status, ran.out) == (2, "")


def test_restore(codegym, recorded, home, tmp_path):
    """The work becomes a commit on top of the true history; the checkout stays as it is."""
    history = home / ".codegym/environments/tiny/history.fast-export"
    repo = tmp_path / "repo"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def git(*arguments: str, **more) -> str:
        done = subprocess.run(
            ["git", "-C", repo, *arguments], env=env, check=True, capture_output=True, **more
        )
        return done.stdout.decode()

    subprocess.run(["git", "init", "-q", "-b", "main", repo], env=env, check=True)
    git("fast-import", "--quiet", input=history.read_bytes())
    git("reset", "-q", "--hard", "main")
    ran = codegym("restore", recorded, "--episode", "0", "--repo", repo, "--json")
    assert ran.status == 0, ran.err
    made = one_object(ran)
    assert (made["files"], made["insertions"], made["deletions"]) == (1, 4, 1)
    assert git("rev-parse", made["branch"]).strip() == made["commit"]
    assert git("status", "--porcelain") == ""
    assert git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    task = open_run(recorded).episode(0).task
    assert git("merge-base", made["branch"], task.base_commit).strip() == task.base_commit
    assert "middle = len(ordered) // 2" in git("show", f"{made['branch']}:src/tinycalc/order.py")


def test_demo_json(codegym):
    ran = codegym("demo", "--tasks", "tiny", "--json")
    assert ran.status == 0, ran.err
    found = one_object(ran)
    scores = [found[name]["score"] for name in ("oracle", "noop", "cheat", "forger")]
    assert scores == [1.0, 0.0, 0.0, 0.0]
    assert found["forger"]["tampering"] == []
    assert found["forger"]["assurance"] == found["oracle"]["assurance"] == "observed"
    assert found["oracle"]["tampering"] == found["noop"]["tampering"] == []
    tried = {each["kind"] for each in found["cheat"]["tampering"]}
    assert {"edited_tests", "added_conftest"} <= tried
    assert any("git" in each["kind"] for each in found["cheat"]["attempts"])
    assert set(found["attestation"].values()) == {0}


def test_demo(codegym):
    ran = codegym("demo", "--tasks", "tiny")
    assert ran.status == 0, ran.err
    assert ran.out.count("in its own sandbox it saw 7 tests pass and 0 fail") == 2
    assert "median([4, 1, 2, 3]) == 2.5`: got 3" in ran.out
    assert "codegym run CodeGym/FixTests-v0 --tasks tiny" in ran.out


def test_doctor(codegym):
    ran = codegym("doctor", "--json")
    found = one_object(ran)
    assert ran.status == 0
    assert found["ok"]
    for name in ("kernel", "git", "pip", "bubblewrap", "cache", "sandbox", "hard limits"):
        assert found["checks"][name]["state"] in ("ok", "note"), name
    assert "Sandboxes work here." in codegym("doctor").out


def test_doctor_says_how_to_have_a_proxy(codegym, tmp_path):
    found = one_object(codegym("doctor", "--json", CODEGYM_CACHE=str(tmp_path)))
    assert found["ok"]
    assert "codegym proxy install" in found["checks"]["network"]["mend"]
    ready = tmp_path / "proxy" / "0c0f" / "ready"
    ready.parent.mkdir(parents=True)
    ready.write_text("12.3.1")
    found = one_object(codegym("doctor", "--json", CODEGYM_CACHE=str(tmp_path)))
    assert found["checks"]["network"]["state"] == "ok"
    assert found["checks"]["network"]["found"].endswith("mitmproxy 12.3.1")


def test_bench_json(codegym):
    ran = codegym("bench", "--tasks", "tiny", "--times", "1", "--json")
    assert ran.status == 0, ran.err
    found = one_object(ran)
    assert set(found) == {
        "reset_ms",
        "attestation_ms",
        "first_reset_ms",
        "bash_step_ms",
        "grade_ratio",
        "observed_grade_ratio",
        "fork_ms",
        "parallel64_s",
        "sandbox_mb",
        "import_make_s",
    }
    for name, figure in found.items():
        assert 0 < figure["p50"] <= figure["p95"], name
        assert name in ("sandbox_mb", "attestation_ms") or figure["floor"] > 0


def test_tasks_and_environments(codegym):
    assert one_object(codegym("tasks", "list", "--tasks", "tiny", "--json"))["tasks"] == [
        "tiny-0",
        "tiny-1",
    ]
    shown = one_object(codegym("tasks", "show", "tiny-1", "--tasks", "tiny", "--json"))
    assert shown["instance_id"] == "tiny-1"
    assert one_object(codegym("tasks", "show", "tiny-1", "--json")) == shown
    assert "+    middle" in codegym("tasks", "show", "tiny-1", "--tasks", "tiny").out
    assert {"tiny", "kvlog"} <= set(one_object(codegym("environment", "list", "--json")))


def test_cache(codegym, recorded, tmp_path):
    held = one_object(codegym("cache", "show", "--json"))
    assert held["layers"]["image"]["count"] >= 1
    assert 0 < sum(kind["bytes"] for kind in held["layers"].values()) <= held["bytes"]
    empty = {"CODEGYM_CACHE": str(tmp_path / "cache")}
    pruned = one_object(codegym("cache", "prune", "--older-than", "0", "--json", **empty))
    assert pruned == {"removed": 0, "freed_bytes": 0, "kept": 0}
