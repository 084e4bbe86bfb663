"""What the fast stage sees of edits, in real sandboxes: all that an import would show."""

from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from support import make_tiny_environment

from codegym.authoring.packages.recording import one_commit
from codegym.errors import UnavailableError
from codegym.grading.progress import Progress
from codegym.grading.setting import Setting
from codegym.grading.trials import run_on
from codegym.mutation.baseline import measure
from codegym.mutation.candidates import Candidate
from codegym.mutation.rows import draft
from codegym.mutation.screening import Screen
from codegym.mutation.trying import Trying
from codegym.mutation.warm.agreement import differences
from codegym.mutation.warm.session import NULL_EVERY, feel, look_at
from codegym.mutation.warm.stage import Seen, Stage
from codegym.sandbox.backends import pick
from codegym.store import LayerStore
from codegym.syntax import Edit, parse
from codegym.tasks import load_environment
from codegym.types import File, Look
from codegym.workspace.history import open_history

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "src/tinycalc/shapes.py"
#: The source, and its tests.
SHAPES, TESTS = (
    (Path(__file__).parent / f"{one}.txt").read_bytes() for one in ("shapes", "shape_tests")
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting():
    try:
        made = Setting(pick("bubblewrap"))
    except UnavailableError as error:
        pytest.skip(str(error))
    yield made
    await made.close()


def environment_of(folder, files):
    """The tiny environment with more files."""
    tiny = make_tiny_environment(folder)
    tree = dict(open_history(tiny).tree_at(tiny.head)) | {p: File(d) for p, d in files.items()}
    stream, head = one_commit(dict(sorted(tree.items())), "More", 0)
    (folder / "history.fast-export").write_bytes(stream)
    text = (folder / "environment.toml").read_text().replace(tiny.head, head)
    (folder / "environment.toml").write_text(text)
    return load_environment(folder)


async def felt(setting, home, store, files=frozenset({PATH})):
    """A suite's baseline, and how it bears to be forked."""
    baseline = await measure(setting, home, home.suites[0], Progress(), files=files, store=store)
    return baseline, await feel(setting, baseline, store)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shapes(setting, tmp_path_factory):
    """Baseline and warmth of the environment."""
    folder = tmp_path_factory.mktemp("shapes")
    home = environment_of(folder / "tiny", {PATH: SHAPES, "tests/test_shapes.py": TESTS})
    return await felt(setting, home, LayerStore(folder / "store"))


def edit_of(old, new, *, source=SHAPES, path=PATH):
    """One edit as a candidate."""
    assert source.count(old) == 1, old
    start = source.index(old)
    edit = Edit(start, start + len(old), new)
    return Candidate(path, parse(source, "python"), edit, "x", "1", 1, "FixTests", "f")


def names(failed):
    return {one.rpartition("::test_")[2] for one in failed}


async def seen(shapes, setting, store, candidates, workers=2):
    """What the stage says of candidates, and what it counted."""
    baseline, warmth = shapes
    screen = Screen([baseline], {PATH: File(SHAPES)})
    stage = Stage(setting, screen, {baseline.suite.name: warmth}, store, workers)
    found = [one async for wave in stage.waves(iter(candidates)) for one in wave]
    assert [one.candidate for one in found] == candidates
    return found, stage.counts


#: An edit, and the tests that fail with it.
NOTICED = [
    (b"return a + 1 ", b"return a + 1.5 ", {"plain"}),
    (b"return a + 1 ", "return 'ß€' and a ".encode(), {"plain"}),
    (b"return 2 * function", b"return 3 * function", {"doubled"}),
    (b"return a + 3", b"return a + 30", {"doubled"}),
    (b"return a + 4", b"return a - 4", {"cached"}),
    (b"self.__a + self.size", b"self.__a - self.size", {"method", "child"}),
    (b"self.__a = a", b"self.__a = a + 1", {"method", "prop", "of", "child"}),
    (b"return self.__a + 6", b"return self.__a + 60", {"prop", "of"}),
    (b"return a + 7", b"return a + 70", {"static"}),
    (b"return cls(a + 8)", b"return cls(a)", {"of"}),
    (b"return 9", b"return None", {"deep"}),
    (b"super().method() + 10", b"super().method()", {"child"}),
    (b"return a + b + 11", b"return a + b", {"nested"}),
    (b"yield 12", b"yield 12; yield 13", {"numbers"}),
    (b"return a * FACTOR", b"return a", {"conditional"}),
    (b"b=14):\n    return a + b", b"b=14):\n    return (lambda x: x - 1)(a + b)", {"default"}),
    (b"return 9", b"def f(self): return 8\n            return f(self)", {"deep"}),
    (b"return 15", b"return 10 + 5 + 0 * len('x')", set()),
]
#: An edit, and why it has to be tried cold.
COLD = [
    (b"FACTOR = 2", b"FACTOR = 3", "module"),
    (b"    size = 5", b"    size = 6", "module"),
    (b"return 13", b"return 14", "import"),
    (b"    return inner", b"    return function", "import"),
    (b"b=14", b"b=13", "import"),
    (b"maxsize=None", b"maxsize=1", "module"),
    (b"yield 12\n", b"yield 13\n", "module"),
    (b"yield 12", b"return [12]", "signature"),
    (b"def static(a):", b"def static(b):", "signature"),
    (b'"""Fifteen."""\n    return 15', b'"""Sixteen."""\n    return 15', "signature"),
]


async def test_edits_show_what_an_import_would(shapes, setting, tmp_path):
    candidates = [edit_of(old, new) for old, new, _ in (*NOTICED, *COLD)]
    found, counts = await seen(shapes, setting, LayerStore(tmp_path), candidates)
    for (_, new, failed), one in zip(NOTICED, found, strict=False):
        assert (one.reason, one.cold) == (None, ""), new
        assert (one.look.ended, names(one.look.failed)) == ("ran", failed), new
    for (_, new, why), one in zip(COLD, found[len(NOTICED) :], strict=True):
        assert (one.reason, one.look, one.cold) == (None, None, why), new
    assert counts.looked == len(NOTICED)
    assert (counts.nulls >= 2, counts.null_valid) == (True, 0)
    # Those are kept, however many at once: nothing is run.
    again, known = await seen(shapes, setting, LayerStore(tmp_path), candidates, workers=1)
    assert (again, known.looked) == (found, 0)
    assert (known.nulls, known.null_valid) == (counts.nulls, 0)
    afresh, _ = await seen(shapes, setting, LayerStore(tmp_path / "2"), candidates, workers=1)
    assert afresh == found


async def test_how_a_failure_ended(shapes, setting):
    baseline, warmth = shapes
    changed = {
        b"return a + 7": (b"return a + 7 + None", {("failed", "TypeError")}),
        b"return a + 1 ": (b"return a + 1.5 ", {("failed", "AssertionError")}),
    }
    work = [(edit_of(old, new), sorted(baseline.seconds)) for old, (new, _) in changed.items()]
    looks = (await look_at(setting, baseline, warmth, work)).looks
    for (_, how), look in zip(changed.values(), looks, strict=True):
        assert set(look.failed.values()) == how
        assert len(look.passed) == len(baseline.seconds) - 1


LEFT = b"open('left-behind', 'w').close()"
FORGED = b"""import os, sys
    for fd in range(3, 64):
        try:
            os.write(fd, b'{"mutant": 4, "ended": "ran", "failed": [[0, "failed", "X"]]}\\n')
        except OSError:
            pass
    os._exit(0)"""


async def test_what_edits_do_to_others(shapes, setting):
    """Some hang, end their process, or the session's; the others are seen all the same."""
    baseline, warmth = shapes
    tests = ["tests/test_shapes.py::test_plain", "tests/test_shapes.py::test_deep"]
    edits = [
        (b"return a + 1 ", b"return a + 1.5 "),
        (b"return a + 1 ", b"while True: pass "),
        (b"return a + 1 ", b"import time; time.sleep(10 ** 6) "),
        (b"return a + 1 ", b"os._exit(0) "),
        (b"return a + 1 ", b"os.kill(os.getpid(), 11) "),
        (b"return a + 1 ", b"a = [0]\n    while a: a *= 2\n    return a "),
        (b"return a + 1 ", b"os.kill(os.getppid(), 9) "),
        (b"return 9", b"return 10"),
        (b"return a + 1 ", b"os.fork(); return a + 1 "),
        (b"return a + 1 ", FORGED),
        (b"return 9", b"return 11"),
        (b"return a + 1 ", b"import time; time.sleep(0.2); return a + 1.5 "),
    ]
    slow = dict.fromkeys(warmth.cpu_sec, 0.0)
    work = [(edit_of(old, new), tests) for old, new in edits]
    looks = (await look_at(setting, baseline, type(warmth)(slow), work)).looks
    ended = [one.ended for one in looks]
    assert ended[:5] == ["ran", "timed_out", "timed_out", "crashed", "crashed"]
    assert (
        looks[5].ended in ("timed_out", "crashed") or looks[5].failed[tests[0]][1] == "MemoryError"
    )
    assert ended[6:8] == ["cold", "ran"]
    assert [names(looks[at].failed) for at in (0, 7, 10, 11)] == [
        {"plain"},
        {"deep"},
        {"deep"},
        {"plain"},
    ]


async def test_a_null_mutant_finds_what_an_edit_left_behind(shapes, setting):
    baseline, warmth = shapes
    everything = sorted(baseline.seconds)
    leak = edit_of(b"return a + 1 ", LEFT + b"; return a + 1 ")
    others = [
        edit_of(b"return a + 7", b"return a + %d" % n) for n in range(100, 100 + 3 * NULL_EVERY)
    ]
    at = NULL_EVERY + 5
    work = [(one, everything) for one in (*others[:at], leak, *others[at:])]
    tried = await look_at(setting, baseline, warmth, work)
    assert tried.null_valid >= 2
    fine = [look.ended for look in tried.looks[:NULL_EVERY]]
    assert set(fine) == {"ran"}
    assert {look.why for look in tried.looks[NULL_EVERY:]} == {"null_mutant"}


async def test_a_forged_failure_makes_no_task(shapes, setting, tmp_path):
    """The fast stage believes it, and no one else does."""
    baseline, warmth = shapes
    store = LayerStore(tmp_path)
    screen = Screen([baseline], {PATH: File(SHAPES)})
    stage = Stage(setting, screen, {baseline.suite.name: warmth}, store, 2)
    forged = edit_of(b"return a + 1 ", FORGED + b" ")
    honest = edit_of(b"return 9", b"return 10")
    trying = Trying(setting, screen, stage, store, 2)
    (_, first), (_, second) = [one async for one in trying.in_order(iter([forged, honest]))]
    assert (first.reason, first.failing) == ("collection_error", ())
    assert (second.reason, names(second.failing)) == (None, {"deep"})
    assert (trying.confirmed.tried, trying.confirmed.held) == (2, 1)


async def test_what_a_look_says_is_held_against_an_ordinary_run(shapes, setting):
    baseline, warmth = shapes
    tests = frozenset({"tests/test_shapes.py::test_plain", "tests/test_shapes.py::test_deep"})
    failed = {"tests/test_shapes.py::test_plain": ("failed", "AssertionError")}
    looks = [
        (b"a + 1.5 ", Look("ran", "", failed)),
        (b"a - 1 + 2 ", Look("ran", "", failed)),
        (b"__import__('time').sleep(60) ", Look("timed_out")),
        (b"os._exit(3) ", Look("timed_out")),
    ]
    told = [
        (Seen(edit_of(b"return a + 1 ", b"return " + new), None, look), tests)
        for new, look in looks
    ]
    found = await differences(setting, baseline, warmth, told, 2)
    assert [(one.fast[0], names(one.fast[1]), one.cold[0]) for one in found] == [
        ("ran", {"plain"}, "survived"),
        ("timed_out", set(), "crashed"),
    ]


async def test_bytecode_of_what_changed_is_not_used(shapes, setting):
    """Files of a layer have one time: of two that are as long, only a name tells them apart."""
    baseline, warmth = shapes
    one = edit_of(b"return a + 1 ", b"return a - 1 ")
    ready = await setting.ready(draft(one, baseline.ready), baseline.ready.environment)
    failed = {}
    for changed in ((), (PATH,)):
        manner = replace(warmth.manner(one, "."), changed=changed)
        run = await run_on(setting, ready, manner=manner)
        failed[changed] = names(each.id for each in run.records if each.outcome == "failed")
    assert failed == {(): set(), (PATH,): {"plain"}}
    assert warmth.manner(one, ".").changed == (PATH,)
    assert warmth.manner(one, "src").changed == (PATH.removeprefix("src/"),)


THREADED = b"""\
import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()


def test_nothing():
    pass
"""


async def test_a_suite_with_threads_is_tried_cold(setting, tmp_path):
    home = environment_of(tmp_path / "tiny", {"tests/test_threads.py": THREADED})
    path = "src/tinycalc/arith.py"
    store = LayerStore(tmp_path / "store")
    baseline, warmth = await felt(setting, home, store, frozenset({path}))
    assert warmth.why == "it has threads"
    source = baseline.ready.prepared.grading_tree[path].data
    one = edit_of(b"result += number", b"result -= number", source=source, path=path)
    screen = Screen([baseline], dict(baseline.ready.prepared.grading_tree))
    stage = Stage(setting, screen, {baseline.suite.name: warmth}, store, 1)
    (found,) = [each async for wave in stage.waves(iter([one])) for each in wave]
    assert (found.look, found.cold) == (None, "suite")
