"""A bug written down as a patch becomes a task, or is refused with the reason."""

import json
import subprocess
import sys

import pytest

from codegym import authoring
from codegym.errors import DataError, UsageError
from codegym.tasks import read_info, resolve
from codegym.types import Manifest
from codegym.workspace.diff import diff_trees
from codegym.workspace.history import open_history

FILE = "src/tinycalc/arith.py"


def bug(environment, path, old, new):
    """The diff that a user makes: one file, one change."""
    tree = open_history(environment).tree_at(environment.head)
    text = tree[path].data.decode()
    assert old in text
    changed = type(tree[path])(text.replace(old, new).encode())
    return diff_trees(tree, {**tree, path: changed})


@pytest.fixture
def written(at_home):
    def write(text):
        path = at_home / "bug.patch"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


async def test_a_bug_becomes_a_task(tiny, setting, written):
    text = bug(tiny, FILE, "result = 0", "result = 1")
    made = await authoring.from_patch(tiny, written(text), setting, statement=" Sums are off. ")
    task = made.task
    assert set(task.fail_to_pass) == {
        "tests/test_arith.py::test_mean",
        "tests/test_arith.py::test_total",
        "tests/test_arith.py::test_total_of_nothing",
    }
    assert "tests/test_arith.py::test_mean_of_nothing" in task.pass_to_pass
    assert len(task.test_ids) == 7
    assert task.base_commit == tiny.head
    assert "+    result = 1" in task.start_patch
    assert "+    result = 0" in task.patch
    assert task.problem_statement == "Sums are off."
    assert task.instance_id.startswith("tiny-")
    assert list(resolve("tiny")) == [task]
    report = await authoring.check(resolve("tiny"), setting, 2)
    assert report.holds, report.fallen
    ready = await setting.ready(task)
    assert (await setting.grade(ready, Manifest())).score == 0.0


async def test_each_bug_is_a_new_version_of_the_pack(tiny, setting, written):
    first = written(bug(tiny, FILE, "result = 0", "result = 1"))
    await authoring.from_patch(tiny, first, setting)
    with pytest.raises(UsageError, match="a task already: tiny-"):
        await authoring.from_patch(tiny, first, setting)
    second = written(bug(tiny, "src/tinycalc/order.py", "sorted(numbers)[-1]", "numbers[0] - 1"))
    made = await authoring.from_patch(tiny, second, setting)
    assert made.pack.version == read_info(tiny.folder).version == 2
    assert len(resolve("tiny")) == 2
    assert "tests that passed before fail now" in made.task.problem_statement
    # What is made from history later leaves them alone.
    result = await authoring.from_history(tiny, setting)
    assert len(resolve("tiny")) == 2 + len(result.tasks)


NEW_FILE = """\
diff --git a/{0} b/{0}
new file mode 100644
--- /dev/null
+++ b/{0}
@@ -0,0 +1 @@
+x = 1
"""


@pytest.mark.parametrize(
    ("patch", "error", "said"),
    [
        ((FILE, '"""Sums."""', '"""Totals."""'), UsageError, "every test passes with the bug"),
        ((FILE, "def total", "def total_"), UsageError, "cannot be collected, and must run"),
        ((FILE, "result = 0", "result = = 0"), UsageError, "SyntaxError"),
        ((FILE, "    result = 0", "    import os; os._exit(3)"), UsageError, "status 3"),
        (("tests/test_arith.py", "== 6", "== 7"), UsageError, "is a test, or configures tests"),
        (("pyproject.toml", '"-q"', '"-qq"'), UsageError, "is a test, or configures tests"),
        (NEW_FILE.format("setup.py"), UsageError, "not where tiny permits edits"),
        (NEW_FILE.format(FILE), DataError, "is there already"),
        (NEW_FILE.format("../out.py"), DataError, "does not apply to the newest commit of tiny"),
        (NEW_FILE.format(".git/hooks/x"), DataError, "does not apply"),
        ("", DataError, "changes nothing"),
        ("this is no patch\n", DataError, "bug.patch: "),
        (b"\xff\xfe\x00", DataError, "bug.patch: "),
    ],
)
async def test_what_is_no_task_is_refused(tiny, setting, written, patch, error, said):
    path = written(bug(tiny, *patch) if isinstance(patch, tuple) else patch)
    with pytest.raises(error) as caught:
        await authoring.from_patch(tiny, path, setting)
    assert said in str(caught.value)
    assert "bug.patch" in str(caught.value)
    assert not (tiny.folder / "pack.json").exists()


async def test_a_patch_that_is_not_there(tiny, setting, at_home):
    with pytest.raises(DataError, match=r"no\.patch: cannot be read"):
        await authoring.from_patch(tiny, at_home / "no.patch", setting)


async def test_a_hunk_for_another_commit_is_refused(tiny, setting, written):
    text = bug(tiny, FILE, "result = 0", "result = 1").replace("    result = 0", "    result = 9")
    with pytest.raises(DataError, match=r"does not match .* Make it with `git diff`"):
        await authoring.from_patch(tiny, written(text), setting)


def test_from_the_command_line(tiny, at_home, written):
    written(bug(tiny, FILE, "result = 0", "result = 1"))
    command = [sys.executable, "-m", "codegym", "tasks", "from-patch", "tiny", "bug.patch"]

    def run(*more):
        return subprocess.run(
            [*command, *more], cwd=at_home, capture_output=True, text=True, timeout=100, check=False
        )

    ran = run("--json")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert len(said["task"]["fail_to_pass"]) == 3
    assert said["pack"]["version"] == 1
    again = run()
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.strip().startswith("codegym: this bug is a task already")
