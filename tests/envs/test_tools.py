"""Tools against a real sandbox."""

import random

import pytest

from codegym.envs.tools import BUILTIN, load_tools
from codegym.envs.workbench import Workbench
from codegym.errors import NotFoundError, UsageError
from codegym.types import CommandResult, TestOutcome

TOOLS = load_tools("default").tools


async def no_tests(ids, timeout_sec):
    raise AssertionError("not asked for")


@pytest.fixture
async def box(setting, source):
    ready = await setting.ready(source.get("tiny-0"))
    box = await setting.start(ready)
    yield box
    await box.stop()


@pytest.fixture
def bench(box):
    return Workbench(
        box, shown_tests=("a", "b"), run_tests=no_tests, timeout_sec=60, max_output_bytes=64_000
    )


@pytest.fixture
def use(bench):
    async def use(name, **arguments):
        return await TOOLS[name](bench, **arguments)

    return use


async def test_view_numbers_lines(use, box):
    await box.write("a.txt", b"one\ntwo\nthree")
    assert (await use("view", path="a.txt")).output == "1\tone\n2\ttwo\n3\tthree\n"
    assert (await use("view", path="a.txt", start_line=2, end_line=2)).output == "2\ttwo\n"
    assert (await use("view", path="/workspace/a.txt", start_line=3)).output == "3\tthree\n"
    assert (await use("view", path="a.txt", start_line=2, end_line=99)).output.count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "none.txt"}, "no such file"),
        ({"path": ""}, "no such file"),
        ({"path": "/dev/null"}, "not a regular file"),
        ({"path": "README.md", "start_line": 99}, "has 3 lines"),
        ({"path": "README.md", "start_line": 3, "end_line": 2}, "before start_line"),
        ({"path": "-rf"}, "no such file"),
        ({"path": "a\nb; touch /workspace/injected"}, "no such file"),
    ],
)
async def test_view_says_what_was_wrong(use, box, arguments, says):
    with pytest.raises(ValueError, match=says):
        await use("view", **arguments)
    assert (await box.shell("ls injected")).exit_code != 0


async def test_view_bounds_what_it_shows(use, box):
    await box.write("long", b"x\n" * 5000 + b"y" * 10_000)
    shown = (await use("view", path="long")).output
    assert shown.endswith("[… 3001 more lines; ask for them with start_line]\n")
    last = (await use("view", path="long", start_line=5001)).output
    assert last.endswith("[… 8000 more characters]\n")
    assert len(last) < 2100
    await box.write("empty", b"")
    assert (await use("view", path="empty")).output == "(empty file)"
    await box.write("big", b"x" * (5 << 20))
    with pytest.raises(ValueError, match="larger than"):
        await use("view", path="big")


async def test_view_lists_two_levels_without_git(use, box):
    listed = (await use("view", path=".")).output.splitlines()
    assert listed == sorted(listed)
    assert {"README.md", "src/", "src/tinycalc/", "tests/test_order.py"} <= set(listed)
    assert not [entry for entry in listed if entry.startswith(".git")]
    assert "src/tinycalc/order.py" not in listed
    await box.shell("mkdir void")
    assert (await use("view", path="void")).output == "(empty folder)"
    await box.shell("mkdir many && cd many && seq 600 | xargs touch")
    assert (await use("view", path="many")).output.endswith("[… and 100 more]\n")


async def test_edit_replaces_what_is_unique(use, box):
    await box.write("a.py", b"x = 1\r\ny = 2\n\xff\n", executable=True)
    done = await use("edit", path="a.py", old="y = 2", new="y = 'ä'")
    assert done.output == "edited a.py at line 2"
    assert await box.read("a.py") == "x = 1\r\ny = 'ä'\n".encode() + b"\xff\n"
    assert (await box.shell("[ -x a.py ]")).exit_code == 0
    await use("edit", path="a.py", old="y = 'ä'\n", new="")
    assert await box.read("a.py") == b"x = 1\r\n\xff\n"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("alpha", "x", r"occurs 2 times \(lines 1, 3\)"),
        ("aa", "x", r"occurs 2 times"),
        ("def  f():\n    retrun 1", "x", r"nearest text, at line 4, is:\ndef f\(\):\n    return 1"),
        ("nothing like it at all", "x", r"does not occur; nothing was changed"),
        ("", "x", "is empty"),
        ("beta", "beta", "the same"),
        ("\n", "x", "occurs"),
    ],
)
async def test_edit_says_how_many_and_what_is_near(use, box, old, new, says):
    text = b"alpha\nbeta\nalpha\ndef f():\n    return 1\nxaaa\n"
    await box.write("a.py", text)
    with pytest.raises(ValueError, match=says):
        await use("edit", path="a.py", old=old, new=new)
    assert await box.read("a.py") == text


async def test_write_makes_folders_and_keeps_the_mode(use, box):
    done = await use("write", path="new/deep/ä b.txt", content="one\ntwo\n")
    assert done.output == "wrote new/deep/ä b.txt (8 bytes, 2 lines)"
    assert await box.read("new/deep/ä b.txt") == b"one\ntwo\n"
    await box.shell("chmod +x 'new/deep/ä b.txt'")
    await use("write", path="new/deep/ä b.txt", content="")
    assert (await box.shell("[ -x 'new/deep/ä b.txt' ] && wc -c < new/deep/*")).output == b"0\n"


@pytest.mark.parametrize("path", ["", "  ", "src/", "src", "/etc/passwd", "README.md/x", "/proc/x"])
async def test_write_says_where_it_cannot(use, path):
    with pytest.raises(
        ValueError, match=r"names no file|regular file|directory|Read-only|denied|nonexistent"
    ):
        await use("write", path=path, content="x")


async def test_search_finds_lines_in_order(use, box):
    await box.write("b.txt", b"needle 1\n\nneedle 2\n")
    await box.write("a/c.py", b"a needle\n")
    await box.write("a/bin", b"\0needle\n")
    await box.shell("echo needle > .git/needle")
    found = (await use("search", pattern="needle")).output
    assert found == "a/c.py:1:a needle\nb.txt:1:needle 1\nb.txt:3:needle 2\n"
    assert (await use("search", pattern="NEEDLE")).output == "no match"
    assert (await use("search", pattern="NEEDLE [0-9]+$", ignore_case=True)).output.count("\n") == 2
    assert (await use("search", pattern="needle", glob="*.py")).output == "a/c.py:1:a needle\n"
    assert (await use("search", pattern="needle", path="a")).output == "a/c.py:1:a needle\n"
    assert (await use("search", pattern="needle", path="b.txt")).output.startswith("b.txt:1:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pattern": "("}, "grep"),
        ({"pattern": "x", "path": "nowhere"}, "nowhere"),
        ({"pattern": "--help"}, "no match"),
        ({"pattern": "x", "path": "--help"}, "--help"),
    ],
)
async def test_search_answers_what_is_wrong(use, arguments, says):
    try:
        told = (await use("search", **arguments)).output
    except ValueError as error:
        told = str(error)
    assert says in told


async def test_search_is_bounded(use, box):
    await box.shell("mkdir many; for n in $(seq 300); do echo needle > many/$n; done")
    shown = (await use("search", pattern="needle")).output
    assert shown.endswith("[… 100 more; narrow the pattern, path or glob]\n")
    await box.shell("seq 1000000 > numbers; yes needle | head -c 1000 | tr -d '\\n' >> numbers")
    more = (await use("search", pattern="[0-9]", path="numbers")).output
    assert "more matches than fit" in more
    assert max(map(len, (await use("search", pattern="needle")).output.split("\n"))) < 400


@pytest.mark.parametrize("gone", ["exec 1>&-", "exec >/dev/null 2>&1", "exec 2>log", "exec 1<&0"])
async def test_output_that_exec_took_away_comes_back_and_is_told(use, gone):
    await use("bash", command=f"x=1; {gone}")
    told = await use("bash", command="echo out $x; echo err >&2; false")
    assert (told.exit_code, told.output.splitlines()[1:]) == (1, ["out 1", "err"])
    assert "an earlier exec redirected or closed the output" in told.output
    assert (await use("bash", command="echo $x")).output == "1\n"


async def test_what_ended_the_shell_is_told(use):
    seen = await use("bash", command="echo on the way out; exit 3")
    assert seen.exit_code == 3
    assert seen.output.startswith("on the way out\n[the shell ended and was started anew")
    timed = await use("bash", command="sleep 60", timeout_sec=0.3)
    assert "all processes in the sandbox ended" in timed.output


class Recording:
    """Notes what a tool asks of a sandbox; only bounds are looked at, nothing is run."""

    def __init__(self):
        self.asked = []

    async def shell(self, command, *, timeout_sec, max_output_bytes):
        self.asked.append((timeout_sec, max_output_bytes))
        return CommandResult(0, b"")

    async def exec(self, argv, *, stdin, env, timeout_sec, max_output_bytes, report):
        self.asked.append((timeout_sec, max_output_bytes))
        return CommandResult(0, b"")


async def test_no_tool_passes_the_bounds_of_an_action():
    box = Recording()
    bench = Workbench(
        box, shown_tests=(), run_tests=no_tests, timeout_sec=5.0, max_output_bytes=1000
    )
    await bench.shell("x", timeout_sec=1e9, max_output_bytes=1 << 40)
    await bench.exec(["x"], timeout_sec=1e9, max_output_bytes=1 << 40)
    await bench.exec(["x"], timeout_sec=1.0, max_output_bytes=10)
    for timeout_sec, max_output_bytes in box.asked[:2]:
        assert timeout_sec <= 5.0
        assert max_output_bytes == 1000
    assert box.asked[2] == (1.0, 10)


def with_outcomes(outcomes):
    async def run(ids, timeout_sec):
        return [outcomes[test] for test in ids]

    return Workbench(
        Recording(),
        shown_tests=tuple(outcomes),
        run_tests=run,
        timeout_sec=5.0,
        max_output_bytes=1000,
    )


async def test_run_tests_counts_and_reports():
    outcomes = {
        "t.py::a": TestOutcome("t.py::a", "passed"),
        "t.py::b": TestOutcome("t.py::b", "failed", message="assert 3 == 2"),
        "t.py::c": TestOutcome("t.py::c", "missing"),
        "t.py::d": TestOutcome("t.py::d", "skipped"),
    }
    bench = with_outcomes(outcomes)
    result = await TOOLS["run_tests"](bench)
    assert (result.failing, result.passing, result.exit_code) == (2, 1, 1)
    assert result.output == (
        "2 failed, 1 passed, 1 skipped\n\nFAILED t.py::b\nassert 3 == 2\n\nMISSING t.py::c\n"
    )
    one = await TOOLS["run_tests"](bench, ids=["t.py::a", "t.py::a"])
    assert (one.failing, one.passing, one.exit_code) == (0, 1, 0)
    with pytest.raises(ValueError, match=r"did you mean 't.py::d'"):
        await TOOLS["run_tests"](bench, ids=["t.py::dd"])
    with pytest.raises(ValueError, match="empty"):
        await TOOLS["run_tests"](bench, ids=[])


async def test_run_tests_is_bounded():
    names = [f"t.py::{n}" for n in range(500)]
    random.Random(0).shuffle(names)
    bench = with_outcomes({n: TestOutcome(n, "failed", message="x" * 10_000) for n in names})
    result = await TOOLS["run_tests"](bench)
    assert result.failing == 500
    assert len(result.output) < 25_000
    assert "and 390 more" in result.output


def test_tools_are_chosen_by_name_in_the_order_given():
    assert tuple(load_tools("default").tools) == tuple(BUILTIN)
    assert tuple(load_tools(["submit", "bash"]).tools) == ("submit", "bash")
    own = load_tools(["codegym.envs.tools.bash:Bash", "submit"])
    assert tuple(own.tools) == ("bash", "submit")
    with pytest.raises(NotFoundError, match="did you mean 'search'"):
        load_tools(["serach"])
    with pytest.raises(UsageError, match="expected names"):
        load_tools([3])
