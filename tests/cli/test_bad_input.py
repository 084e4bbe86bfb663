"""What is wrong is said in one line: what, where, what next."""

import json
import os
import re

import pytest

from codegym.runs import Pins, RunFolder

ID = "CodeGym/FixTests-v0"
OUT = ("--out", "runs/never")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", ID, "--tasks", "tyny", "--policy", "noop", *OUT), r"did you mean 'tiny'"),
        (("run", "CodeGym/FixTest-v0", "--policy", "noop", *OUT), r"did you mean '.*FixTests-v0'"),
        (("run", ID, "--tasks", "tiny", "--policy", "orakle", *OUT), r"did you mean 'oracle'"),
        (("run", ID, "--tasks", "absent.jsonl", "--policy", "noop", *OUT), r"no such file"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop"), r"--out"),
        (("run", ID, "--tasks", "tiny", "--polcy", "noop", *OUT), r"--policy"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop", "--reward", "sloved", *OUT), "solved"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop", "--tools", "bsh", *OUT), "bash"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop", "--max-steps", "0", *OUT), "max_steps"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop", "--network", "all", *OUT), "network"),
        (("run", ID, "--tasks", "tiny", "--policy", "noop", "--sandbox", "bublewrap", *OUT), "bub"),
        (
            ("run", ID, "--tasks", "tiny", "--policy", "noop", "--policy-option", "x", *OUT),
            "KEY=VALUE",
        ),
        (("rnu",), r"run"),
        (("curriculum", "stats", ".codegym"), r"a folder: write a file whose `\[pool\]` names it"),
        (("tasks", "show", "tiny-9"), r"no environment, pack or task named 'tiny-9'"),
        (("tasks", "show", "tiny-9", "--tasks", "tiny"), r"did you mean 'tiny-"),
    ],
)
def test_a_wrong_argument_is_told(codegym, home, arguments, told):
    ran = codegym(*arguments)
    assert ran.status == 2
    assert ran.out == ""
    assert re.search(told, ran.err), ran.err
    assert not (home / "runs").exists(), "nothing was begun"


def test_a_broken_line_of_a_pack(codegym, home, tmp_path):
    rows = (home / ".codegym/environments/tiny/tasks.jsonl").read_text().splitlines()
    bad = json.loads(rows[1])
    bad["FAIL_TO_PASS"] = 3
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{rows[0]}\n{json.dumps(bad)}\n")
    ran = codegym("run", ID, "--tasks", path, "--policy", "noop", "--out", tmp_path / "run")
    assert ran.status == 2
    assert f"{path}:2: FAIL_TO_PASS" in ran.err
    assert ran.err.count("\n") == 1


def test_two_runs_in_one_folder(codegym, tmp_path):
    pins = Pins("0", ID, "k", "t", "d", {}, {}, {}, "noop", "1", {}, 1, 0, {})
    with RunFolder(tmp_path, pins):
        ran = codegym("run", ID, "--tasks", "tiny", "--policy", "noop", "--out", tmp_path)
    assert ran.status == 2
    assert f"process {os.getpid()} is writing this run" in ran.err


def test_resuming_with_something_else(codegym, recorded):
    ran = codegym(
        "run", ID, "--tasks", "tiny", "--policy", "oracle", "--seed", 5, "--out", recorded
    )
    assert ran.status == 2
    assert "seed was '0', is '5'" in ran.err


def test_an_out_that_cannot_be_written(codegym, home):
    ran = codegym("run", ID, "--tasks", "tiny", "--policy", "noop", "--out", "/proc/run")
    assert ran.status == 3
    assert "cannot write /proc/run" in ran.err


def test_without_user_namespaces(codegym, tmp_path):
    """In a user namespace that allows none below it: to this user, a machine that forbids them."""
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    before = ("unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh")
    before = ("env", "DOCKER_HOST=unix:///nowhere/docker.sock", *before)  # nor containers
    ran = codegym("doctor", "--json", before=before)
    found = json.loads(ran.out)
    assert ran.status == 3
    assert not found["ok"]
    assert found["checks"]["user namespaces"]["state"] == "fail"
    assert found["checks"]["sandbox"]["state"] == "fail"
    ran = codegym(
        "run", ID, "--tasks", "tiny", "--policy", "noop", "--out", tmp_path / "r", before=before
    )
    assert ran.status == 3
    assert ran.err.startswith("codegym: ")
    assert ran.err.count("\n") == 1


def test_in_a_user_namespace_that_maps_nobody(codegym):
    ran = codegym("doctor", "--json", before=("unshare", "--user"))
    found = json.loads(ran.out)
    assert ran.status == 3
    assert found["checks"]["user namespaces"]["state"] == "fail"
    assert "maps no user" in found["checks"]["user namespaces"]["found"]
    assert "--map-current-user" in found["checks"]["user namespaces"]["mend"]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("patch", "Change < to <=.", "line 1 of the patch: no file's header"),
        ("test_patch", "--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-x\n", "line 3 of the patch"),
        ("start_patch", "@@ -1 +1 @@\n-x\n+y\n", "line 1 of the patch: comes before"),
        ("FAIL_TO_PASS", [], "must have at least 1 entry, has 0"),
        ("PASS_TO_PASS", {}, "must be a valid list"),
        ("repo", 3, "must be a string"),
    ],
)
def test_rows_that_cannot_be_are_told_by_file_line_and_field(
    codegym, home, tmp_path, field, value, told
):
    good = (home / ".codegym/environments/tiny/tasks.jsonl").read_text().splitlines()
    bad = json.loads(good[1]) | {field: value}
    (tmp_path / "rows.jsonl").write_text(f"{good[0]}\n{json.dumps(bad)}\n")
    ran = codegym("tasks", "list", "--tasks", tmp_path / "rows.jsonl")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"codegym: {tmp_path / 'rows.jsonl'}:2: {field}: {told}"), ran.err


FILL = """
set -e
mount -t tmpfs -o size=40k none {disk}
set +e
"$@" >/dev/null; echo "status $?"
mount -o remount,size=16m {disk}
"$@"
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk, in a namespace of its own")
def test_a_full_disk_loses_nothing(codegym, tmp_path):
    """The disk fills in the midst of a run; with more room the same command ends it."""
    before = ("unshare", "--mount", "sh", "-c", FILL.format(disk=tmp_path), "sh")
    noop = ("run", ID, "--tasks", "tiny", "--policy", "noop", "--samples", "5", "--json")
    ran = codegym(*noop, "--out", tmp_path / "run", before=before)
    status, _, rest = ran.out.partition("\n")
    assert status == "status 3", ran.err
    assert "No space left on device" in ran.err
    assert "Free some space, then give the same command again" in ran.err
    assert re.search(r"resuming: [1-9]\d* of 10 episodes are done", ran.err)
    summary = json.loads(rest)
    assert (summary["episodes"], summary["faults"]) == (10, 0)
