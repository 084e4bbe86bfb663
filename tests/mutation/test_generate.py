"""Tasks by mutation, from end to end: real suites in real sandboxes."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
import pytest_asyncio
from support import make_tiny_environment, tiny_task

from codegym.errors import UnavailableError, UsageError
from codegym.grading.progress import Progress
from codegym.grading.setting import Setting
from codegym.mutation import (
    generate,
    load_operators,
    made_otherwise,
    pack,
    place_for,
    tasks_in,
)
from codegym.mutation.baseline import measure
from codegym.sandbox.backends import pick
from codegym.store import LayerStore
from codegym.syntax import Edit
from codegym.tasks import load_environment, read_info, write_pack
from codegym.types import Change, Manifest
from codegym.workspace.history import open_history
from codegym.workspace.trees import gold_tree

KINDS = ["FixTests", "ImplementFeature"]


class Counting:
    """The true backend, which counts what it starts and can be cut off."""

    def __init__(self, backend):
        self._backend = backend
        self.started = 0

    def __getattr__(self, name):
        return getattr(self._backend, name)

    async def start(self, spec):
        self.started += 1
        return await self._backend.start(spec)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting():
    try:
        made = Setting(Counting(pick("bubblewrap")))
    except UnavailableError as error:
        pytest.skip(str(error))
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faults(setting, tiny):
    """Eight faults, once for all."""
    operators = load_operators((), "python", ["FixTests"])
    return await generate(tiny, setting, operators, count=8, seed=1)


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def graded(setting, environment, task):
    """Scores of the solved task and of nothing."""
    ready = await setting.ready(task, environment)
    start, gold = ready.prepared.start_tree, gold_tree(task, environment)
    changes = tuple(Change(path, gold[path].data) for path in gold if gold[path] != start.get(path))
    assert changes
    solved = await setting.grade(ready, Manifest(changes))
    empty = await setting.grade(ready, Manifest(()))
    return solved.score, empty.score


async def test_every_task_grades_one_when_solved_and_nothing_else(setting, tiny, faults):
    assert len(faults.tasks) == 8
    whole = open_history(tiny).tree_at(tiny.head)
    for task in faults.tasks:
        assert await graded(setting, tiny, task) == (1.0, 0.0), task
        assert gold_tree(task, tiny) == whole


async def test_the_funnel_adds_up(faults):
    assert faults.candidates == len(faults.tasks) + sum(faults.funnel.values())
    assert len(faults.tasks) <= faults.covered <= faults.candidates <= faults.found


async def test_what_a_row_says(tiny, faults):
    for task in faults.tasks:
        (span,) = task.provenance["spans"]
        assert task.base_commit == tiny.head
        assert span["path"] in task.patch
        assert task.kind == "FixTests"
        assert task.fail_to_pass
        assert task.pass_to_pass
        assert not set(task.fail_to_pass) & set(task.pass_to_pass)
        texts = task.provenance["statements"]
        assert (list(texts), task.features["detail"]) == (["low", "medium", "high"], 2)
        assert task.problem_statement == texts["medium"]
        assert span["path"] not in task.problem_statement
        assert dict(task.provenance["operators"]).items() <= dict(faults.operators).items()
        assert task.features["failing_tests"] == len(task.fail_to_pass)
        assert task.features["suspects"] >= 1
        added = [line for line in task.start_patch.splitlines() if line.startswith("+")][1:]
        assert [f"-{line[1:]}" for line in added] == [
            line for line in task.patch.splitlines() if line.startswith("-")
        ][1:]
    effects = Counter(task.provenance["effect"] for task in faults.tasks)
    assert set(effects.values()) == {1}


async def test_what_ran_is_not_run_again_and_a_seed_decides(setting, tiny, faults):
    before = setting.backend.started
    operators = load_operators((), "python", ["FixTests"])
    # One worker begins three ahead of the fifth: they are among the eight.
    again = await generate(tiny, setting, operators, count=5, seed=1, workers=1)
    assert again.tasks == faults.tasks[:5]
    assert setting.backend.started == before


async def test_no_task_is_one_that_a_commit_made(setting, tiny, faults):
    first = faults.tasks[0]
    effect = first.provenance["effect"]
    by_hand = replace(first, instance_id="tiny-by-hand", provenance={})
    operators = load_operators((), "python", ["FixTests"])
    more = await generate(tiny, setting, operators, count=5, seed=1, known=[by_hand])
    assert effect not in {task.provenance["effect"] for task in more.tasks}
    assert more.funnel["same_effect"] >= 1
    # What is there already stays: the commit's task came later.
    held = await generate(tiny, setting, operators, count=5, seed=1, known=[first, by_hand])
    assert first.instance_id in {task.instance_id for task in held.tasks}
    other = replace(by_hand, fail_to_pass=("tests/test_order.py::test_other",))
    same = await generate(tiny, setting, operators, count=5, seed=1, known=[other])
    assert same.tasks == faults.tasks[:5]


async def test_no_task_has_the_effect_of_one_that_is_there(setting, tiny, faults):
    operators = load_operators((), "python", ["FixTests"])
    known = [replace(task, instance_id=f"old-{n}") for n, task in enumerate(faults.tasks[:3])]
    more = await generate(tiny, setting, operators, count=5, seed=1, known=known)
    assert more.funnel["same_effect"] >= 3
    assert not {task.provenance["effect"] for task in known} & {
        task.provenance["effect"] for task in more.tasks
    }


async def test_a_feature_is_to_be_written_anew(setting, tiny):
    operators = load_operators((), "python", ["ImplementFeature"])
    made = await generate(tiny, setting, operators, count=9)
    assert {task.provenance["function"] for task in made.tasks} == {"total", "mean", "median"}
    for task in made.tasks:
        assert task.kind == "ImplementFeature"
        assert f"`{task.provenance['function']}`" in task.problem_statement
        ready = await setting.ready(task, tiny)
        (span,) = task.provenance["spans"]
        start = ready.prepared.start_tree[span["path"]].data
        gone = gold_tree(task, tiny)[span["path"]].data[span["start"] : span["end"]]
        assert b"    raise NotImplementedError" in start
        assert not any(line in start for line in gone.strip().splitlines() if len(line) > 20)
        assert await graded(setting, tiny, task) == (1.0, 0.0)


class Chosen:
    """One edit that a test asks for."""

    version, languages, tier = "1", ("python",), 1

    def __init__(self, old, new):
        self.id, self._old, self._new = f"chosen {old!r} {new!r}", old, new

    def __call__(self, node, source, rng):
        if node.type == "module" and self._old in source:
            start = source.index(self._old)
            yield Edit(start, start + len(self._old), self._new)


FALLEN = [
    (b"    for number in numbers:", b"    for number in numbers", "does_not_parse"),
    (b"    result = 0\n", b"    return = 0\n", "does_not_parse"),
    (b"        result += number\n", b"        result += (number)\n", "equivalent"),
    (b'"""Sums."""\n', b'"""Sums."""\nimport nothing_at_all\n', "collection_error"),
    (b'"""Sums."""\n', b'"""Sums."""\nimport os\nos._exit(0)\n', "collection_error"),
    (b"    result = 0\n", b"    import os; os._exit(7); result = 0\n", "crashed"),
    (b"    result = 0\n", b"    result = 0 + sum([])\n", "survived"),
]


@pytest.mark.parametrize(("old", "new", "reason"), FALLEN)
async def test_why_one_falls(setting, tiny, old, new, reason):
    made = await generate(tiny, setting, [Chosen(old, new)], count=1)
    assert dict(made.funnel) == {reason: 1}
    assert (made.tasks, made.candidates) == ((), 1)


async def test_one_that_never_ends(setting, tmp_path):
    folder = make_tiny_environment(tmp_path / "tiny").folder
    text = (folder / "environment.toml").read_text()
    (folder / "environment.toml").write_text(
        text.replace("timeout_sec = 60.0", "timeout_sec = 8.0")
    )
    endless = Chosen(b"    result = 0\n", b"    while True: pass\n    result = 0\n")
    store = LayerStore(tmp_path / "store")
    made = await generate(load_environment(folder), setting, [endless], count=1, store=store)
    assert dict(made.funnel) == {"timed_out": 1}
    # A busy machine can do that too, so the next run looks again.
    assert not [one for one in store.root.iterdir() if one.name.startswith("trial-")]


async def test_the_same_file_twice_and_lines_that_no_test_runs(setting, tiny):
    twice = [
        Chosen(b"    result = 0\n", b"    result = 1\n"),
        Chosen(b"result = 0\n", b"result = 1\n"),
    ]
    made = await generate(tiny, setting, twice, count=5)
    assert (len(made.tasks), dict(made.funnel)) == (1, {"duplicate": 1})
    files = frozenset({"src/tinycalc/arith.py"})
    baseline = await measure(
        setting, tiny, tiny.suites[0], Progress(), files=files, store=LayerStore()
    )
    order = "src/tinycalc/order.py"
    assert baseline.coverage.tests_of("src/tinycalc/arith.py", [6]) == {
        f"tests/test_arith.py::{name}"
        for name in ("test_total", "test_total_of_nothing", "test_mean")
    }
    assert not baseline.coverage.tests_of(order, range(1, 30))


async def test_a_run_that_is_stopped_goes_on(setting, tiny, tmp_path):
    """Stopped when its second task is there, it runs nothing twice."""
    store = LayerStore(tmp_path / "store")
    operators = load_operators((), "python", ["FixTests"])

    class Stopping(Progress):
        done = 0

        def advance(self, text):
            self.done += 1
            if self.done == 2:
                running.cancel()

    async def make(**options):
        return await generate(
            tiny, setting, operators, count=4, seed=2, workers=1, store=store, **options
        )

    running = asyncio.ensure_future(make(progress=Stopping()))
    with pytest.raises(asyncio.CancelledError):
        await running
    before = setting.backend.started
    kept = len([one for one in store.root.iterdir() if one.name.startswith("trial-")])
    assert kept >= 2
    made = await make()
    tried = made.covered - kept
    assert setting.backend.started - before <= 3 * max(0, tried) + 3
    assert len(made.tasks) == 4


async def test_packs(setting, tiny, faults, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home = make_tiny_environment(tmp_path / ".codegym" / "environments" / "tiny")
    write_pack(home.folder, [tiny_task(home)], name="tiny", environments=[home])
    assert place_for(home, None) == home.folder
    assert place_for(tiny, None) == tmp_path / ".codegym" / "packs" / "tiny-generated"
    info = pack(home.folder, home, faults)
    assert (info.name, info.version) == ("tiny", 2)
    assert dict(info.operators) == dict(faults.operators)
    ids = [task.instance_id for task in tasks_in(home.folder, home)]
    assert ids == ["tiny-median", *(task.instance_id for task in faults.tasks)]
    assert pack(home.folder, home, faults) == info
    elsewhere = place_for(home, tmp_path / "more")
    assert pack(elsewhere, home, faults).name == "more"
    assert read_info(elsewhere).version == 1


async def test_what_is_no_mutant_is_known_from_the_environments_own_pack(tiny, faults, tmp_path):
    assert made_otherwise(tiny, tiny.folder) == []
    folder = make_tiny_environment(tmp_path / "tiny").folder
    home = load_environment(folder)
    first, second = faults.tasks[:2]
    by_hand = replace(first, instance_id="tiny-by-hand", provenance={})
    pack(folder, home, replace(faults, tasks=(by_hand, second)))
    assert made_otherwise(home, tmp_path / "elsewhere") == [by_hand]
    text = (folder / "environment.toml").read_text()
    (folder / "environment.toml").write_text(text.replace("short lists", "long lists"))
    assert made_otherwise(load_environment(folder), tmp_path / "elsewhere") == []


async def test_two_that_wrote_one_pack_at_once_add_no_effect_twice(tiny, faults, tmp_path):
    first, *others = faults.tasks
    same = replace(first, instance_id="tiny-by-another")
    by_another = replace(faults, tasks=(same, *others))
    folder = tmp_path / "mine"
    pack(folder, tiny, by_another)
    assert pack(folder, tiny, faults).version == 1
    assert tasks_in(folder, tiny) == [same, *others]
    turned = replace(first, instance_id="tiny-turned", features={**first.features, "max_steps": 9})
    assert pack(folder, tiny, replace(faults, tasks=(turned,))).version == 2  # by a knob: another


async def test_a_folder_that_can_be_no_pack_is_told_before_anything_runs(tiny, tmp_path):
    assert place_for(tiny, tmp_path / "new" / "mine-2") == tmp_path / "new" / "mine-2"
    for name in ("Mine", "my tasks", "x" * 80):
        with pytest.raises(UsageError, match=r"cannot be a pack: .* is no name"):
            place_for(tiny, tmp_path / name)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    with pytest.raises(UsageError, match=r"thesis is no pack \(no pack.json\) and not empty"):
        place_for(tiny, tmp_path / "thesis")


async def test_a_pack_for_an_environment_that_changed_is_left_alone(tiny, faults, tmp_path):
    pack(tmp_path / "mine", tiny, faults)
    folder = make_tiny_environment(tmp_path / "tiny").folder
    text = (folder / "environment.toml").read_text()
    (folder / "environment.toml").write_text(text.replace("short lists", "long lists"))
    with pytest.raises(UsageError, match="as it was before it changed; name another folder"):
        tasks_in(tmp_path / "mine", load_environment(folder))


async def test_nothing_to_mutate(setting, tmp_path):
    folder = make_tiny_environment(tmp_path / "tiny").folder
    text = (folder / "environment.toml").read_text()
    (folder / "environment.toml").write_text(text.replace('"src/**", ', ""))
    with pytest.raises(UsageError, match="no python source that may be edited"):
        await generate(load_environment(folder), setting, [Chosen(b"a", b"b")], count=1)
    (folder / "environment.toml").write_text(text)
    with pytest.raises(UsageError, match="find no place in 3 files"):
        await generate(load_environment(folder), setting, [Chosen(b"nowhere", b"")], count=1)
