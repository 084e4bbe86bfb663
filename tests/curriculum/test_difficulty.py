"""Predictions move with outcomes, forget, and say how sure they are."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import make_task

from codegym.curriculum.calibration import calibrate
from codegym.curriculum.difficulty import Difficulty
from codegym.curriculum.features import FEATURES, WEIGHTS, operator_of, order_of, vector
from codegym.curriculum.outcomes import Outcome

POOL = tuple(make_task(n, environment=f"env-{n % 2}", statement_chars=9) for n in range(6))


def told(model, pool=POOL):
    rows = model.rows(pool)
    return model.mean(rows), *model.interval(rows)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 8), st.floats(0, 1)),
        max_size=40,
    )
)
def test_the_mean_lies_in_its_interval_and_both_in_0_to_1(history):
    model = Difficulty()
    model.rows(POOL)
    for task, episodes, share in history:
        model.observe(Outcome(f"task-{task}", round(share * episodes), episodes))
    mean, low, high = told(model)
    assert ((low >= 0) & (low <= mean) & (mean <= high) & (high <= 1)).all()
    again = Difficulty()
    again.load_state_dict(json.loads(json.dumps(model.state_dict())))
    assert np.array_equal(told(again)[0], mean)  # loaded before the tasks were known


def test_an_outcome_moves_its_task_most_its_category_a_little_and_others_not():
    model = Difficulty()
    before = told(model)[0]
    model.observe(Outcome("task-0", 8, 8))
    after = told(model)[0]
    assert after[0] - before[0] > 0.2
    assert 0 < after[2] - before[2] < 0.05
    assert after[1] == before[1]


def test_more_episodes_make_it_surer():
    model = Difficulty()
    widths = []
    for _ in range(3):
        _, low, high = told(model)
        widths.append(high[0] - low[0])
        model.observe(Outcome("task-0", 4, 8))
    assert widths[0] > widths[1] > widths[2]


def test_what_a_weaker_policy_did_is_forgotten_by_its_own_and_by_others_episodes():
    model = Difficulty(half_life=100.0)
    model.rows(POOL)
    model.observe(Outcome("task-0", 0, 8))
    stuck = told(model)[0][0]
    for _ in range(40):
        model.observe(Outcome("task-1", 4, 8))
    assert told(model)[0][0] > stuck
    for _ in range(4):
        model.observe(Outcome("task-0", 8, 8))
    assert told(model)[0][0] > 0.8


def test_eight_single_episodes_weigh_as_much_as_a_group():
    one, other = Difficulty(), Difficulty()
    for model in (one, other):
        model.rows(POOL)
    for number in range(8):
        one.observe(Outcome("task-0", number % 2, 1))
    other.observe(Outcome("task-0", 4, 8))
    assert told(one)[0] == pytest.approx(told(other)[0], abs=0.02)
    assert one.clock == other.clock == 8


def test_a_child_begins_with_a_part_of_what_is_known_of_its_parent():
    child = replace(POOL[0], instance_id="child", provenance={"parent": "task-0"})
    model = Difficulty()
    model.rows(POOL)
    for _ in range(3):
        model.observe(Outcome("task-0", 0, 8))
    orphan = replace(child, instance_id="orphan", provenance={"parent": None})
    mean = model.mean(model.rows((POOL[0], child, orphan)))
    assert mean[0] < mean[1] < mean[2]


def test_a_child_that_is_known_before_its_parent_inherits_all_the_same():
    child = replace(POOL[0], instance_id="child", provenance={"parent": "task-0"})
    first, last = Difficulty(), Difficulty()
    first.know([child])
    for model in (first, last):
        model.know(POOL)
        model.observe(Outcome("task-0", 0, 8))
    last.know([child])
    assert first.chance("child") == last.chance("child") < last.chance("task-1")


def test_a_list_that_holds_other_tasks_by_now_has_their_rows():
    model, pool = Difficulty(), list(POOL[:3])
    before = model.rows(pool)
    pool.reverse()
    assert model.rows(pool).tolist() == before.tolist()[::-1]


def test_what_is_kept_of_tasks_that_are_not_there_yet_is_kept_again():
    model = Difficulty()
    model.know(POOL)
    model.observe(Outcome("task-0", 5, 8))
    other = Difficulty()
    other.load_state_dict(model.state_dict())
    assert other.state_dict() == model.state_dict()
    other.know(POOL)
    assert other.chance("task-0") == model.chance("task-0")


def test_an_outcome_of_an_unknown_task_is_no_evidence():
    model = Difficulty()
    before = told(model)[0]
    model.observe(Outcome("nobody", 8, 8))
    assert np.array_equal(told(model)[0], before)
    assert model.chance("nobody") == -1.0


def test_features_make_a_task_harder_as_they_should_and_a_label_stands_for_all():
    label = lambda **features: float(vector(make_task(0, **features)) @ np.ones(len(FEATURES)))  # noqa: E731
    assert label(files=3) > label(files=1)
    assert label(failing_tests=1, covering_tests=50) > label(failing_tests=40, covering_tests=50)
    assert label(suspects=90) > label() > label(suspects=2)  # not known: as usual
    assert label(files=9, difficulty=1.5) == 1.5
    assert label(files=float("nan"), hunks="many") == label(files=0)
    task = replace(
        POOL[0], provenance={"operators": {"b": "1", "a": "1"}, "spans": [{}, {}]}, features={}
    )
    assert (operator_of(task), order_of(task)) == ("a+b", 2)


def test_each_knob_makes_a_task_harder_as_it_should():
    def label(task):
        return float(vector(task) @ WEIGHTS)

    plain = replace(POOL[0], features={"files": 1, "detail": 3, "tracebacks": 1, "max_steps": 96})
    assert label(plain) == label(replace(plain, features={"files": 1}))
    for knob in ({"detail": 2}, {"tracebacks": 0}, {"max_steps": 24}):
        assert label(replace(plain, features={**plain.features, **knob})) > label(plain)
    assert label(replace(plain, hidden=frozenset(plain.fail_to_pass))) > label(plain)
    assert label(replace(plain, hidden=frozenset(plain.pass_to_pass))) == label(plain)


def test_a_state_from_before_a_feature_was_known_is_gone_on_with():
    old = Difficulty().state_dict()
    kept = [0.5] * (len(FEATURES) - 4)
    model = Difficulty()
    model.load_state_dict({**old, "weights": kept})
    assert model.weights.tolist() == [*kept, *WEIGHTS[-4:]]


def test_no_outcome_moves_what_is_expected_of_other_tasks_far():
    big = {"files": 40, "hunks": 90, "lines_added": 4000, "function_lines": 900, "depth": 20}
    for features in (big, {"difficulty": 30.0}):
        pool = [make_task(n, environment=f"env-{n}", **features) for n in range(2)]
        model = Difficulty()
        rows = model.rows(pool)
        logit = lambda p: np.log(p / (1 - p))  # noqa: E731
        before = logit(model.prior(rows))[1]
        model.observe(Outcome("task-0", 8, 8))
        assert abs(logit(model.prior(rows))[1] - before) <= 25 * 0.05


def test_weights_learn_that_a_label_is_worthless():
    model, rng = Difficulty(), np.random.default_rng(0)
    pool = [make_task(n, difficulty=float(rng.normal())) for n in range(200)]
    model.rows(pool)
    for _ in range(10):
        for task in pool:
            model.observe(Outcome(task.instance_id, int(rng.binomial(8, 0.5)), 8))
    assert abs(model.weights[0]) < 0.3


def test_calibration_of_a_perfect_and_of_a_blind_prophet():
    sure = [Outcome("a", 4, 4, predicted=1.0), Outcome("b", 0, 4, predicted=0.0)]
    seen = calibrate(sure)
    assert (seen.brier, seen.auc, seen.base) == (0.0, 1.0, 0.25)
    blind = calibrate([replace(each, predicted=0.5) for each in sure])
    assert (blind.brier, blind.auc) == (0.25, 0.5)
    assert [(b.expected, b.solved, b.episodes) for b in blind.bins] == [(0.5, 0.5, 8)]
    assert calibrate([Outcome("a", 1, 1)]).episodes == 0
    assert calibrate([Outcome("a", 1, 1, predicted=0.3)]).auc is None
