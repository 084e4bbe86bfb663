"""Children come from where the learner is, and know their parent."""

from dataclasses import replace

import numpy as np
import pytest
from pools import make_task

from codegym.curriculum.evolution import adopted, choose, knobs_turned
from codegym.curriculum.evolution import parents as parents_by
from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.spec import Rates

PATCH = "--- a/src/one.py\n+++ b/src/one.py\n@@ -1 +1 @@\n-a\n+b\n"


def mutant(number, function="f", tier=2, environment="one"):
    task = make_task(number, environment=environment, tier=tier)
    provenance = {"function": function, "spans": [{"path": "src/one.py"}]}
    return replace(task, patch=PATCH, provenance=provenance)


RATES = Rates(informative=0.4, easy=0.25, hard=0.02)


def parents(tasks, seen, rates=RATES):
    return parents_by(tasks, seen, rates)


TASKS = [mutant(0), mutant(1, "g"), mutant(2, "h"), mutant(3)]
SEEN = [
    Outcome("task-0", 0, 8),
    Outcome("task-0", 3, 8),
    Outcome("task-1", 8, 8),
    Outcome("task-2", 0, 8),
]


def test_latest_outcomes_decide_how_likely_a_parent_is_and_how_strong_its_children():
    informative, easy, hard = parents(TASKS, SEEN)
    assert [one.weight for one in (informative, easy, hard)] == [0.4, 0.25, 0.02]
    assert informative.admits("src/one.py", "f", 2)
    assert informative.admits("src/one.py", "f", 4)
    assert not informative.admits("src/one.py", "f", 1)
    assert not informative.admits("src/one.py", "g", 2)
    assert not informative.admits("src/two.py", "f", 2)
    assert not easy.admits("src/one.py", "g", 2)
    assert easy.admits("src/one.py", "g", 3)
    assert hard.admits("src/one.py", "h", 1)
    assert not hard.admits("src/one.py", "h", 3)


def test_all_functions_of_a_task_of_several_edits_have_children():
    spans = [{"path": "src/one.py", "function": name} for name in ("f", "k")]
    task = replace(TASKS[0], provenance={"function": "f", "spans": spans})
    (parent,) = parents([task], SEEN)
    assert parent.admits("src/one.py", "f", 2)
    assert parent.admits("src/one.py", "k", 2)
    assert not parent.admits("src/one.py", "g", 2)


def test_what_is_never_solved_is_told_in_more_detail_and_what_always_is_in_less():
    texts = {"low": "a", "medium": "bb", "high": "ccc"}
    tasks = [
        replace(
            one,
            provenance={**one.provenance, "statements": texts},
            features={**one.features, "detail": 2},
            problem_statement="bb",
        )
        for one in TASKS
    ]
    chosen = parents(tasks, SEEN)
    easier, harder = sorted(
        knobs_turned(tasks, chosen, set()), key=lambda one: one.features["detail"], reverse=True
    )
    assert (easier.provenance["parent"], easier.problem_statement) == ("task-2", "ccc")
    assert (harder.provenance["parent"], harder.problem_statement) == ("task-1", "a")
    assert knobs_turned(tasks, chosen, {easier.instance_id, harder.instance_id}) == []
    assert knobs_turned(tasks, [one for one in chosen if one.task_id == "task-0"], set()) == []


def test_a_task_of_no_known_function_has_children_anywhere_in_its_files():
    task = replace(TASKS[0], provenance={"generator": "from-history"})
    (parent,) = parents([task], SEEN)
    assert parent.admits("src/one.py", "any", 2)
    assert not parent.admits("src/two.py", "any", 2)


def test_parents_are_taken_by_their_chances_and_never_none():
    known = parents(TASKS, SEEN)
    counts = dict.fromkeys((one.task_id for one in known), 0)
    for seed in range(300):
        taken = choose(known, np.random.default_rng(seed), 10)
        for one in taken["one"]:
            counts[one.task_id] += 1
    assert counts["task-0"] > counts["task-1"] > counts["task-2"]
    assert choose(known[2:], np.random.default_rng(0), 1)["one"][0].task_id == "task-2"


def test_the_spec_says_who_may_become_a_parent():
    known = parents(TASKS, SEEN, Rates(informative=0.0, easy=1.0, hard=0.0))
    for seed in range(20):
        (taken,) = choose(known, np.random.default_rng(seed), 10)["one"]
        assert taken.task_id == "task-1"


def test_children_know_their_parent_and_those_that_are_there_already_are_left_out():
    chosen = parents(TASKS, SEEN)
    made = [replace(mutant(7, "g", 3)), mutant(8, "f", 3), mutant(9, "elsewhere")]
    found = adopted(made, chosen, {"task-8"})
    assert [(task.instance_id, task.provenance["parent"]) for task in found] == [
        ("task-7", "task-1")
    ]
    assert found[0].provenance["function"] == "g"


@pytest.mark.parametrize("seen", [[], [Outcome("nobody", 1, 2)]])
def test_who_was_never_tried_is_no_parent(seen):
    assert parents(TASKS, seen) == []
