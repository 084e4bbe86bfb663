"""A check: what holds is said to hold; each way to be broken is found, and quarantined."""

import inspect
import json
import os
import shlex
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
from support import tiny_task

from codegym import authoring
from codegym.errors import SandboxError
from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.tasks import read_quarantine, resolve, write_pack, write_quarantine
from codegym.workspace.diff import diff_trees
from codegym.workspace.history import open_history


def pack(tiny, *tasks):
    write_pack(tiny.folder, tasks, name="tiny", environments=[tiny])
    return resolve("tiny")


async def test_what_holds_holds(tiny, setting):
    report = await authoring.check(pack(tiny, tiny_task(tiny)), setting)
    assert report.holds
    (only,) = report.tasks
    assert (only.gold, only.empty, only.problem) == ((1.0,) * 3, (0.0,) * 3, "")
    assert not (tiny.folder / "quarantine.jsonl").exists()


async def test_a_check_of_one_task_leaves_what_is_known_of_the_others(tiny, setting):
    task = tiny_task(tiny)
    source = pack(tiny, *(replace(task, instance_id=name) for name in ("t0", "t1")))
    write_quarantine(source.path, {"t0": "flaky", "t1": "slow"})
    report = await authoring.check(resolve("t1"), setting, 1)
    assert [each.task_id for each in report.tasks] == ["t1"]
    assert report.released == ("t1",)
    assert read_quarantine(source.path) == {"t0": "flaky"}


async def test_what_protects_grades_is_told_and_can_be_asked_for(tiny, setting):
    task = tiny_task(tiny)
    loose = task.test_patch.replace("median([4, 1, 2, 3]) == 2.5", "median([4, 1, 2, 3]) < 2.6")
    rows = [task, replace(task, instance_id="tiny-loose", test_patch=loose)]
    least = {"name": "tiny", "environments": [tiny], "least_assurance": "observed"}
    write_pack(tiny.folder, rows, **least)
    report = await authoring.check(resolve("tiny"), setting, 1)
    shares = report.shares
    assert shares.tests == {"observed": 0.5, "controls": 0.5, "report_only": 0.0}
    assert (shares.siblings, shares.hard_codable) == (0.5, 0.5)
    assert (shares.failing, shares.assertion_only, shares.observation_only) == (2, 0, 0)
    assert shares.forging_bound == pytest.approx(
        (1.0 + report.tasks[0].protection.forging_bound) / 2
    )
    assert [each.problem for each in report.tasks] == [
        "",
        "its grades are controls, and the pack asks for observed",
    ]
    assert write_pack(tiny.folder, [task], name="tiny", environments=[tiny]).least_assurance == (
        "observed"
    )


async def test_what_does_not_hold_is_quarantined_with_the_reason(tiny, setting):
    task = tiny_task(tiny)
    median, *_ = task.fail_to_pass
    tasks = {
        # Another answer than the right one.
        "wrong": replace(task, patch=task.patch.replace("]) / 2", "]) / 4")),
        "stale": replace(task, patch=task.patch.replace("return ordered[len", "return sum[len")),
        "easy": replace(task, fail_to_pass=task.pass_to_pass, pass_to_pass=()),
        "mixed": replace(task, fail_to_pass=(*task.pass_to_pass[:1], median), pass_to_pass=()),
        "broken": replace(task, pass_to_pass=(*task.pass_to_pass, "tests/test_order.py::gone")),
        "good": task,
    }
    rows = [replace(each, instance_id=f"tiny-{name}") for name, each in tasks.items()]
    report = await authoring.check(pack(tiny, *rows), setting, 1)
    assert [each.task_id for each in report.fallen] == [row.instance_id for row in rows[:-1]]
    said = read_quarantine(tiny.folder / "tasks.jsonl")
    assert said == {each.task_id: each.problem for each in report.fallen}
    assert said["tiny-wrong"].startswith("the gold patch graded 0: ")
    assert median in said["tiny-wrong"]
    assert "does not match" in said["tiny-stale"]
    assert said["tiny-easy"].startswith("no work at all graded 1")
    assert "of FAIL_TO_PASS passes already" in said["tiny-mixed"]
    assert "gone missing" in said["tiny-broken"]
    assert resolve("tiny").ids == ("tiny-good",)


async def test_what_holds_again_is_released(tiny, setting):
    source = pack(tiny, tiny_task(tiny))
    said = {"tiny-median": "it fell", "another": "a row that is gone since"}
    write_quarantine(tiny.folder / "tasks.jsonl", said)
    report = await authoring.check(resolve("tiny"), setting, 1)
    assert report.released == ("tiny-median",)
    assert read_quarantine(tiny.folder / "tasks.jsonl") == {}
    assert resolve("tiny").ids == source.ids


async def test_an_answer_that_lies_in_the_tree_is_found(tiny, setting):
    task = tiny_task(tiny)
    history = open_history(tiny)
    base, gold = history.tree_at(task.base_commit), history.tree_at(tiny.head)
    solved = gold["src/tinycalc/order.py"]
    leak = diff_trees(base, dict(sorted({**base, "docs/solved.txt": solved}.items())))
    report = await authoring.check(pack(tiny, replace(task, start_patch=leak)), setting, 1)
    assert "would give the answer away" in report.tasks[0].problem
    assert report.tasks[0].gold == ()


async def test_an_answer_that_the_image_holds_is_found(tiny, setting):
    task = tiny_task(tiny)
    copying = inspect.getsource(textwrap.TextWrapper._wrap_chunks)
    assert len(copying) > 200
    report = await authoring.check(
        pack(tiny, replace(task, patch=task.patch + _holding(copying))), setting, 1
    )
    assert "the image holds 1 functions of the solved tree" in report.tasks[0].problem
    assert "textwrap.py" in report.tasks[0].problem


def _holding(method: str) -> str:
    lines = ["class Wrapper:", *method.splitlines()]
    head = (
        "diff --git a/src/tinycalc/wrap.py b/src/tinycalc/wrap.py\nnew file mode 100644\n"
        f"--- /dev/null\n+++ b/src/tinycalc/wrap.py\n@@ -0,0 +1,{len(lines)} @@\n"
    )
    return head + "".join(f"+{line}\n" for line in lines)


class Broken:
    """A backend whose sandboxes never start."""

    name, owner = "broken", None

    def __init__(self, inner):
        self._inner, self.started = inner, 0

    async def start(self, spec):
        self.started += 1
        raise SandboxError("no sandbox starts")

    async def close(self):
        await self._inner.close()


async def test_a_fault_of_the_sandbox_is_no_fault_of_a_task(tiny):
    source = pack(tiny, tiny_task(tiny), replace(tiny_task(tiny), instance_id="tiny-2"))
    whole = Setting(pick())
    await whole.ready(next(iter(source)))  # the image is there
    await whole.close()
    backend = Broken(pick())
    setting = Setting(backend)
    with pytest.raises(SandboxError, match="no sandbox starts"):
        await authoring.check(source, setting, 1)
    await setting.close()
    assert backend.started >= 3
    assert not (tiny.folder / "quarantine.jsonl").exists()


def _check(at_home, *arguments, before=()):
    return subprocess.run(
        [*before, sys.executable, "-m", "codegym", "check", *arguments],
        cwd=at_home,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_the_command_says_so_by_its_status(tiny, at_home):
    task = tiny_task(tiny)
    easy = replace(task, instance_id="tiny-easy", fail_to_pass=task.pass_to_pass, pass_to_pass=())
    pack(tiny, task, easy)
    ran = _check(at_home, "tiny", "--json", "--repeats", "1")
    assert ran.returncode == 1, ran.stderr
    said = json.loads(ran.stdout)
    assert (said["holds"], said["fallen"], said["repeats"]) == (False, ["tiny-easy"], 1)
    assert said["tasks"][0] == said["tasks"][0] | {"gold": [1], "empty": [0], "problem": ""}
    assert said["protection"]["tests"]["observed"] > 0
    assert said["protection"]["observation_only"] == said["protection"]["assertion_only"] == 0
    pack(tiny, task)
    ran = _check(at_home, "tiny", "--repeats", "1")
    assert ran.returncode == 0, ran.stderr
    assert "1 of 1 tasks hold" in ran.stdout
    assert "failing tests graded by observation" in ran.stdout
    other = at_home / "other.jsonl"
    row = (tiny.folder / "tasks.jsonl").read_text().replace(task.instance_id, "tiny-other")
    other.write_text(row)
    ran = _check(at_home, "tiny", str(other), "--json", "--repeats", "1")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    parts = said["protection_of_parts"]
    assert {name: each["tasks"] for name, each in parts.items()} == {"tiny": 1, str(other): 1}
    assert (said["protection"]["tasks"], said["protection"]["fail_to_pass"]) == (2, 2)
    assert parts["tiny"]["siblings"] == 1


def test_a_pack_that_cannot_be_written_is_reported_only(tiny, at_home):
    task = tiny_task(tiny)
    pack(tiny, replace(task, fail_to_pass=task.pass_to_pass, pass_to_pass=()))
    before = sorted(path.name for path in tiny.folder.iterdir())
    tiny.folder.chmod(0o555)
    ran = _check(at_home, "tiny", before=_read_only(tiny.folder) if os.geteuid() == 0 else ())
    tiny.folder.chmod(0o755)
    assert ran.returncode == 1, ran.stderr
    assert "no work at all graded 1" in ran.stdout
    assert "nothing is quarantined there" in ran.stdout
    assert sorted(path.name for path in tiny.folder.iterdir()) == before


def _read_only(folder):
    """Permissions do not stop root; a mount of its own, in a namespace of its own, does."""
    place = shlex.quote(str(folder))
    script = f'mount --bind {place} {place} && mount -o remount,ro,bind {place} && exec "$@"'
    return "unshare", "--mount", "sh", "-c", script, "sh"
