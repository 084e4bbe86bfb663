"""What a suite does without an edit, in real sandboxes: what is recorded, and what is left out."""

from dataclasses import replace

import pytest
import pytest_asyncio
from support import make_tiny_environment

from codegym.authoring.packages.recording import one_commit
from codegym.errors import UnavailableError, UsageError
from codegym.grading.progress import Progress
from codegym.grading.setting import Setting
from codegym.mutation import generate, load_operators
from codegym.mutation.baseline import BACKWARDS, PROCESSES, UNSTEADY, measure
from codegym.sandbox.backends import pick
from codegym.store import LayerStore
from codegym.tasks import load_environment
from codegym.types import File
from codegym.workspace.history import open_history

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCE = "src/tinycalc/loops.py"
LOOPS = b"""\
def spin(times):
    for number in range(times):
        last = number
    return last


def twice(number):
    return number * 2
"""
#: How a test ends is chance; it is not what the interpreter's seed decides.
TESTS = b"""\
import os
import subprocess
import sys

from tinycalc.loops import spin, twice


def test_spin():
    assert spin(2_000_000) == 1_999_999
    assert twice(2) == 4


def test_after_it():
    assert spin(3) == 2


def test_forks():
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert twice(3) == 6


def test_leaves_one_behind():
    subprocess.Popen(["sleep", "0.2"])
    assert twice(4) == 8


def test_while_that_ends():
    import time
    time.sleep(0.4)
    assert twice(5) == 10


def test_by_chance():
    assert os.urandom(4) < b"\\x80"


LEFT = []


def test_leaves_something():
    LEFT.append(twice(6))


def test_needs_what_was_left():
    assert LEFT == [12]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting():
    try:
        made = Setting(pick("bubblewrap"))
    except UnavailableError as error:
        pytest.skip(str(error))
    yield made
    await made.close()


def environment_of(folder, files, suites=""):
    """The tiny environment with more files, and more suites."""
    tiny = make_tiny_environment(folder)
    tree = dict(open_history(tiny).tree_at(tiny.head)) | {p: File(d) for p, d in files.items()}
    stream, head = one_commit(dict(sorted(tree.items())), "More", 0)
    (folder / "history.fast-export").write_bytes(stream)
    text = (folder / "environment.toml").read_text().replace(tiny.head, head)
    (folder / "environment.toml").write_text(text.replace("[edits]", f"{suites}\n[edits]"))
    return load_environment(folder)


async def test_what_is_recorded_and_what_is_left_out(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {SOURCE: LOOPS, "tests/test_loops.py": TESTS})
    found = await measure(
        setting,
        home,
        home.suites[0],
        Progress(),
        files=frozenset({SOURCE}),
        store=LayerStore(tmp_path / "store"),
    )
    mine = {one.rpartition("::")[2]: why for one, why in found.left_out.items()}
    assert mine.pop("test_by_chance", UNSTEADY) in (UNSTEADY, BACKWARDS)  # 1 time in 4 in neither
    processes = dict.fromkeys(["test_forks", "test_leaves_one_behind"], PROCESSES)
    assert mine == processes | {"test_needs_what_was_left": BACKWARDS}
    assert not found.left_out.keys() & found.seconds.keys()
    assert 0 < found.expected_sec(frozenset()) < found.suite_sec
    # A test that loops so long that recording stops has what it ran before; the next has all.
    assert found.coverage.tests_of(SOURCE, [3]) == {
        "tests/test_loops.py::test_spin",
        "tests/test_loops.py::test_after_it",
    }
    assert "tests/test_loops.py::test_while_that_ends" in found.coverage.tests_of(SOURCE, [8])
    # With it they are known: nothing is run, and they are the same.
    again = await measure(
        setting,
        home,
        home.suites[0],
        Progress(),
        files=frozenset({SOURCE}),
        store=LayerStore(tmp_path / "store"),
    )
    assert replace(again, ready=found.ready) == found


async def test_a_suite_that_is_about_processes_keeps_its_tests(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {"tests/test_loops.py": TESTS, SOURCE: LOOPS})
    text = (home.folder / "environment.toml").read_text()
    chosen = ", ".join(
        f'"tests/test_loops.py::{one}"' for one in ("test_forks", "test_leaves_one_behind")
    )
    (home.folder / "environment.toml").write_text(
        text.replace('select = ["tests"]', f"select = [{chosen}]")
    )
    home = load_environment(home.folder)
    files = frozenset({SOURCE})
    store = LayerStore(tmp_path / "store")
    found = await measure(setting, home, home.suites[0], Progress(), files=files, store=store)
    assert (len(found.seconds), found.left_out) == (2, {})


FAILING = b"""\
def test_one():
    assert 1 + 1 == 3


def test_two():
    raise KeyError("two")
"""


BAD = {
    "none": (b"", "no test of tiny passes .*: there is none in tests/test_bad.py"),
    "failing": (FAILING, "no test of tiny passes .*: 2 fail or are skipped, as .*::test_one: "),
    "broken": (b"import nothing_at_all\n", "tests/test_bad.py cannot be run: .*nothing_at_all"),
    "endless": (b"while True: pass\n", "not come to its end: .* more time .'timeout_sec'., or"),
}


@pytest.mark.parametrize("name", BAD)
async def test_what_is_wrong_with_a_suite_is_told(setting, tmp_path, name):
    tests, said = BAD[name]
    home = environment_of(tmp_path / "tiny", {"tests/test_bad.py": tests})
    file = home.folder / "environment.toml"
    text = file.read_text().replace('select = ["tests"]', 'select = ["tests/test_bad.py"]')
    if name == "endless":
        text = text.replace("timeout_sec = 60.0", "timeout_sec = 2.0")
    file.write_text(text)
    operators = load_operators((), "python", ["FixTests"])
    store = LayerStore(tmp_path / "store")
    with pytest.raises(UsageError, match=f"{said}.*{file}"):
        await generate(load_environment(home.folder), setting, operators, count=1, store=store)


async def test_what_a_command_printed_is_told(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {})
    file = home.folder / "environment.toml"
    command = "echo no such library; echo at line 7; head -c 900 /dev/zero | tr '\\\\0' x; exit 3"
    suite = f'name = "unit"\nrunner = "junit"\ncommand = "{command}"\nreports = ["out/*.xml"]\n'
    head, _, rest = file.read_text().partition('name = "unit"\n')
    rest = rest[rest.index("select") :].replace('import_paths = ["src"]\n', "")
    file.write_text(head + suite + rest)
    operators = load_operators((), "python", ["FixTests"])
    printed = "This is what was printed last:\n(.*\n)*no such library\nat line 7\nx{300}$"
    with pytest.raises(UsageError, match=f"status 3.*{file}\n{printed}"):
        await generate(load_environment(home.folder), setting, operators, count=1)


SECOND = """
[[suites]]
name = "order"
runner = "pytest"
select = ["tests/test_order.py"]
deselect = []
import_paths = ["src"]
config = ["pyproject.toml", "tests/conftest.py"]
timeout_sec = 60.0
"""


ODD = "src/tinycalc/odd.py"


async def test_every_suite_makes_tasks(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {ODD: b"def later(:\n"}, SECOND)
    text = (home.folder / "environment.toml").read_text()
    (home.folder / "environment.toml").write_text(
        text.replace('select = ["tests"]', 'select = ["tests/test_arith.py"]')
    )
    home = load_environment(home.folder)
    operators = load_operators((), "python", ["FixTests"])
    made = await generate(home, setting, operators, count=3, store=LayerStore(tmp_path / "store"))
    assert made.unread == [ODD]
    files = {"unit": "tests/test_arith.py", "order": "tests/test_order.py"}
    assert {task.suite for task in made.tasks} == set(files)
    for task in made.tasks:
        assert {one.partition("::")[0] for one in task.test_ids} == {files[task.suite]}


async def test_a_language_that_files_are_not_in_is_told(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {ODD: b"def later(:\n"})
    file = home.folder / "environment.toml"
    file.write_text(file.read_text().replace('"src/**"', f'"{ODD}"'))
    operators = load_operators((), "python", ["FixTests"])
    with pytest.raises(UsageError, match=f"understands none of the 1 files of tiny .*, as {ODD}"):
        await generate(load_environment(home.folder), setting, operators, count=1)
