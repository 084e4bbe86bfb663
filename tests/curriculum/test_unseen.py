"""Predictions for tasks that nobody has tried."""

from dataclasses import replace

import numpy as np
from pools import make_task

from codegym.curriculum.unseen import _fit, unseen


def made(count, functions):
    rng = np.random.default_rng(0)
    for n in range(count):
        task = make_task(n, difficulty=float(rng.normal(0, 2)))
        yield replace(task, provenance={"function": f"f{n % functions}"})


TASKS = list(made(60, 30))


def played(skills, seed=0, known=True):
    """Outcomes that follow from the label, or from nothing."""
    rng, tries = np.random.default_rng(seed), {}
    for task in TASKS:
        b = task.features["difficulty"] if known else rng.normal(0, 2)
        tries[task.instance_id] = {
            name: (int(rng.binomial(4, 1 / (1 + np.exp(b - skill)))), 4)
            for name, skill in skills.items()
        }
    return tries


def test_what_features_tell_is_found_and_noise_is_not():
    skills = {"weak": -1.0, "strong": 1.0}
    told, noise = unseen(TASKS, played(skills)), unseen(TASKS, played(skills, known=False))
    assert told.pairs == noise.pairs == 2 * len(TASKS)
    assert min(told.within.values()) > 0.75
    assert max(noise.within.values()) < 0.65
    assert told.auc > told.base + 0.1
    assert 0.5 < told.base < 0.75  # policies differ, and no more is known


def test_a_folds_outcomes_have_no_part_in_what_is_predicted_of_it():
    """Where each function's tasks end alike by chance, leaking them would show."""
    rng = np.random.default_rng(1)
    fate = {f"f{n}": int(rng.integers(2)) for n in range(30)}
    tries = {
        t.instance_id: {"one": (4 * fate[t.provenance["function"]], 4)}
        for t in (replace(task, features={"files": 1}) for task in TASKS)
    }
    same = [replace(task, features={"files": 1}) for task in TASKS]
    assert unseen(same, tries).within["one"] < 0.6


def test_the_fit_ends_at_the_mode_however_far_it_begins():
    rng = np.random.default_rng(2)
    design = np.hstack([np.eye(3)[rng.integers(0, 3, 200)], -rng.uniform(0, 3, (200, 4))])
    episodes, start, spread = np.full(200, 2.0), np.array([0.0] * 3 + [3.0] * 4), np.ones(7)
    solved = rng.binomial(2, 0.5, 200).astype(float)
    at = _fit(design, solved, episodes, start, spread)
    slope = design.T @ (solved - episodes / (1 + np.exp(-design @ at))) - (at - start)
    assert np.abs(slope).max() < 1e-6


def test_where_all_or_none_are_solved_there_is_nothing_to_tell():
    tries = {task.instance_id: {"one": (4, 4)} for task in TASKS}
    assert unseen(TASKS, tries).auc is None
    assert unseen(TASKS, {}).pairs == 0
