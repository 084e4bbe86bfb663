"""Mutants of the tiny environment, made by hand: single edits that an operator can undo."""

from dataclasses import replace
from pathlib import Path

from support import make_tiny_environment

from codegym.tasks import Environment, write_pack
from codegym.types import Task
from codegym.workspace.diff import diff_trees
from codegym.workspace.history import open_history

_ARITH, _ORDER = "src/tinycalc/arith.py", "src/tinycalc/order.py"
_TESTS = {
    _ARITH: ("test_total", "test_total_of_nothing", "test_mean", "test_mean_of_nothing"),
    _ORDER: ("test_largest", "test_median_of_odd", "test_median_of_even"),
}
#: Name: file, function, what was there, what is there, and the tests that fail.
MUTANTS = {
    "minus": (_ARITH, "total", "result += number", "result -= number", "test_total test_mean"),
    "one": (
        *(_ARITH, "total", "result = 0", "result = 1"),
        "test_total test_total_of_nothing test_mean",
    ),
    "times": (_ARITH, "mean", "(numbers) / len", "(numbers) * len", "test_mean"),
    "empty": (_ARITH, "mean", "if not numbers", "if numbers", "test_mean test_mean_of_nothing"),
    "second": (_ORDER, "largest", "(numbers)[-1]", "(numbers)[1]", "test_largest"),
    "odd": (_ORDER, "median", "% 2 == 0", "% 2 != 0", "test_median_of_odd test_median_of_even"),
    "after": (_ORDER, "median", "middle - 1", "middle + 1", "test_median_of_even"),
}


def mutant(environment: Environment, name: str) -> Task:
    """The task that one mutant is."""
    path, function, old, new, failing = MUTANTS[name]
    tree = open_history(environment).tree_at(environment.head)
    gold = {path: tree[path]}
    assert gold[path].data.count(old.encode()) == 1
    start = {path: replace(tree[path], data=gold[path].data.replace(old.encode(), new.encode()))}
    ids = [f"tests/test_{Path(file).name}::{t}" for file, tests in _TESTS.items() for t in tests]
    fails = tuple(one for one in ids if one.partition("::")[2] in failing.split())
    return Task(
        instance_id=f"tiny-{name}",
        environment=environment.name,
        base_commit=environment.head,
        start_patch=diff_trees(gold, start),
        patch=diff_trees(start, gold),
        fail_to_pass=fails,
        pass_to_pass=tuple(one for one in ids if one not in fails),
        provenance={"generator": "mutation", "function": function, "spans": [{"path": path}]},
    )


def make_mutant_home(folder: Path) -> Path:
    """Make ``folder`` a place where ``tiny`` stands for an environment with all mutants."""
    tiny = make_tiny_environment(folder / ".codegym" / "environments" / "tiny")
    rows = [mutant(tiny, name) for name in MUTANTS]
    write_pack(tiny.folder, rows, name="tiny", environments=[tiny])
    return folder
