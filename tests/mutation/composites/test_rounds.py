"""Composites from end to end: real suites in real sandboxes, graded as a policy's work is."""

import pytest
import pytest_asyncio
from support import make_tiny_environment

from codegym.errors import UnavailableError
from codegym.grading.setting import Setting
from codegym.mutation import Joining, generate, load_composites, load_operators
from codegym.mutation.composites.lines import line_edits
from codegym.sandbox.backends import pick
from codegym.syntax import apply_edits
from codegym.types import Change, Manifest
from codegym.workspace.trees import gold_tree

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting():
    try:
        made = Setting(pick("bubblewrap"))
    except UnavailableError as error:
        pytest.skip(str(error))
    yield made
    await made.close()


async def make(setting, tiny, names, count, orders=range(2, 4), wanted=None, **options):
    kinds = ("FixTests",)
    operators = load_operators((), "python", kinds)
    chosen = {} if wanted is None else {"wanted": wanted}
    return await generate(
        tiny,
        setting,
        operators,
        count=count,
        joining=Joining(load_composites(names, kinds), orders, **chosen),
        **options,
    )


async def grade(setting, tiny, task, undone):
    """The score of a start in which only some files or edits are as in the solution."""
    ready = await setting.ready(task, tiny)
    return (await setting.grade(ready, Manifest(undone))).score


async def test_linked_faults_in_a_sandbox(setting, tiny):
    more = await make(setting, tiny, ["linked"], 1)
    (task,) = more.tasks
    assert set(task.provenance["operators"]) > {"composite.linked"}
    assert task.features | {"order": 2, "edits": 2, "tier": 4, "files": 1} == task.features
    assert {span["function"] for span in task.provenance["spans"]} == {"total", "mean"}
    start, gold = (await setting.ready(task, tiny)).prepared.start_tree, gold_tree(task, tiny)
    path = "src/tinycalc/arith.py"
    assert await grade(setting, tiny, task, ()) == 0.0
    assert await grade(setting, tiny, task, (Change(path, gold[path].data),)) == 1.0
    edits = line_edits(start[path].data, gold[path].data)
    assert len(edits) == 2
    for one in edits:  # one of two mended is not enough
        half = apply_edits(start[path].data, [one])
        assert await grade(setting, tiny, task, (Change(path, half),)) == 0.0


async def test_the_same_whoever_ends_first(setting, tiny):
    names = ["revert", "linked", "mask", "drift"]
    first = await make(setting, tiny, names, 3, range(1, 4), workers=1)
    again = await make(setting, tiny, names, 3, range(1, 4), workers=4)
    assert first.tasks == again.tasks
    assert first.candidates == len(first.tasks) + sum(first.funnel.values())


async def test_a_commit_is_taken_back_and_an_error_masked(setting, tiny):
    hard = {"wanted": lambda one: one.tier > 3}  # single edits are but what others are made of
    made = await make(setting, tiny, ["revert", "mask"], 2, range(1, 4), **hard)
    by_name = {one.features["operator"]: one for one in made.tasks}
    revert, mask = by_name["composite.revert"], by_name["composite.mask"]
    assert revert.fail_to_pass == ("tests/test_order.py::test_median_of_even",)
    assert revert.provenance["commits"] == tiny.head
    assert len(mask.provenance["operators"]) == 2
    assert "except Exception:" in mask.start_patch
    for task in made.tasks:
        gold = gold_tree(task, tiny)
        changes = tuple(
            Change(path, file.data) for path, file in gold.items() if path in task.patch
        )
        assert await grade(setting, tiny, task, ()) == 0.0
        assert await grade(setting, tiny, task, changes) == 1.0
