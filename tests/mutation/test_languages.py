"""Mutation of JavaScript, Rust and C, end to end: real tools in real sandboxes."""

import asyncio
import os
from collections import Counter

import pytest
from programs import LANGUAGES, make_environment

from codegym.errors import UnavailableError
from codegym.grading.progress import SILENT
from codegym.grading.setting import Setting
from codegym.grading.trials import run_on, work_between
from codegym.mutation import generate
from codegym.mutation.baseline import measure
from codegym.mutation.candidates import draw, find_candidates, sources
from codegym.mutation.operators import load_operators
from codegym.mutation.switched import can_switch, look_at_all
from codegym.sandbox.backends import pick
from codegym.store import LayerStore
from codegym.types import Change, Manifest
from codegym.workspace.history import open_history
from codegym.workspace.trees import gold_tree

TOGETHER = [
    pytest.param(one, marks=[pytest.mark.slow] if one == "rust" else []) for one in LANGUAGES
]


def with_setting(work, *arguments):
    """Run in a setting; on a machine without a toolchain that is skipped, in CI it fails."""

    async def run():
        setting = Setting(pick("bubblewrap"))
        try:
            return await work(setting, *arguments)
        finally:
            await setting.close()

    try:
        return asyncio.run(run())
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


async def _made(setting, environment, store):
    operators = load_operators([], environment.language, ("FixTests",))
    made = await generate(environment, setting, operators, count=2, store=store)
    grades = []
    for task in made.tasks:
        ready = await setting.ready(task, environment)
        solved = work_between(ready.prepared.start_tree, gold_tree(task, environment))
        grades += [await setting.grade(ready, solved), await setting.grade(ready, Manifest())]
    return made, grades


@pytest.mark.parametrize("language", TOGETHER)
def test_tasks_are_made_and_graded(language, tmp_path):
    store = LayerStore(tmp_path / "store")  # nothing is known from runs of before
    made, grades = with_setting(_made, make_environment(tmp_path / "made", language), store)
    assert len(made.tasks) == 2
    assert [grade.score for grade in grades] == [1.0, 0.0, 1.0, 0.0]
    for task, solved in zip(made.tasks, grades[::2], strict=True):
        assert task.language == language
        assert all("::" in test for test in task.test_ids)
        assert solved.assurance == "report_only"
        assert task.problem_statement.startswith("Something used to work")
    assert made.fast.looked > 5
    assert made.fast.nulls > 0 == made.fast.null_valid


async def _looked_at_and_run(setting, environment):
    tree = open_history(environment).tree_at(environment.head)
    files = sources(environment, tree)
    found = find_candidates(files, load_operators([], environment.language, ("FixTests",)), 0)
    candidates = list(draw(found, 0))[:14]
    suite = environment.suites[0]
    options = {"files": frozenset(files), "store": LayerStore()}
    baseline = await measure(setting, environment, suite, SILENT, **options)
    assert can_switch(baseline)
    tried = await look_at_all(setting, baseline, candidates)
    cold = []
    for one, look in zip(candidates, tried.looks, strict=True):
        changes = [Change(path, data) for path, data in one.mutants.items()]
        skipped = look.ended not in ("ran", "crashed")
        cold.append(None if skipped else await run_on(setting, baseline.ready, changes))
    return tried, cold


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_look_sees_what_a_run_of_its_own_shows(language, tmp_path):
    tried, cold = with_setting(_looked_at_and_run, make_environment(tmp_path, language))
    assert tried.nulls > 0 == tried.null_valid
    kinds = Counter(look.ended for look in tried.looks)
    assert kinds["ran"] >= 6, kinds
    failing = 0
    for look, run in zip(tried.looks, cold, strict=True):
        if run is None:
            continue
        shown = {one.id for one in run.records if one.outcome != "passed"}
        if look.ended == "crashed":
            assert any("::" not in one for one in shown), look
        else:
            assert look.failed.keys() == shown
            failing += bool(shown)
    assert failing >= 4
