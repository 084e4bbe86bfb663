"""What every sampler promises, whatever its rule; and what each rule does."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import make_task

from codegym.curriculum.outcomes import Outcome, as_group
from codegym.curriculum.samplers import BUILTIN, load_sampler
from codegym.errors import NotFoundError, UsageError

POOL = tuple(
    make_task(n, environment=f"env-{n % 3}", difficulty=float(n % 7) - 3.0) for n in range(40)
)
NAMES = st.sampled_from(sorted(BUILTIN))
SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def histories(draw, most=30):
    """Outcomes of tasks of the pool, as they may come in."""
    found = []
    for _ in range(draw(st.integers(0, most))):
        episodes = draw(st.integers(1, 8))
        task = draw(st.sampled_from(POOL))
        found.append(Outcome(task.instance_id, draw(st.integers(0, episodes)), episodes))
    return found


def learned(name, history):
    sampler = load_sampler(name, {})
    tasks = {task.instance_id: task for task in POOL}
    for outcome in history:
        sampler.observe(as_group(outcome, tasks[outcome.task_id]))
    return sampler


def ids(sampler, n, seed, pool=POOL):
    drawn = sampler.sample(pool, n, rng=np.random.default_rng(seed))
    return [task.instance_id for task in drawn]


@settings(max_examples=60, deadline=None)
@given(name=NAMES, history=histories(), n=st.integers(0, 100), seed=SEEDS)
def test_draws_come_from_the_pool_and_none_twice_before_each_once(name, history, n, seed):
    drawn = ids(learned(name, history), n, seed)
    assert len(drawn) == n
    for start in range(0, n, len(POOL)):
        part = drawn[start : start + len(POOL)]
        assert len(set(part)) == len(part)
        assert set(part) <= {task.instance_id for task in POOL}


@settings(max_examples=40, deadline=None)
@given(name=NAMES, history=histories(), n=st.integers(1, 12), seed=SEEDS)
def test_the_same_outcomes_and_seed_draw_the_same_and_a_draw_changes_nothing(
    name, history, n, seed
):
    first, second = learned(name, history), learned(name, history)
    ids(second, 5, seed + 1)
    assert ids(first, n, seed) == ids(second, n, seed)


@settings(max_examples=40, deadline=None)
@given(name=NAMES, history=histories(), seed=SEEDS)
def test_it_does_not_matter_whether_it_drew_before_it_was_told(name, history, seed):
    early = load_sampler(name, {})
    early.sample(POOL, 1, rng=np.random.default_rng(0))
    tasks = {task.instance_id: task for task in POOL}
    for outcome in history:
        early.observe(as_group(outcome, tasks[outcome.task_id]))
    assert ids(early, 8, seed) == ids(learned(name, history), 8, seed)


@settings(max_examples=40, deadline=None)
@given(name=NAMES, history=histories(), later=histories(most=5), seed=SEEDS)
def test_the_state_goes_through_json_and_goes_on_as_before(name, history, later, seed):
    sampler, again = learned(name, history), load_sampler(name, {})
    again.load_state_dict(json.loads(json.dumps(sampler.state_dict())))
    tasks = {task.instance_id: task for task in POOL}
    assert ids(again, 8, seed) == ids(sampler, 8, seed)
    for outcome in later:
        for each in (sampler, again):
            each.observe(as_group(outcome, tasks[outcome.task_id]))
    assert ids(again, 8, seed) == ids(sampler, 8, seed)
    assert again.state_dict() == sampler.state_dict()
    assert [t.instance_id for t in again.sample(POOL, 3)] == [
        t.instance_id for t in sampler.sample(POOL, 3)
    ]


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(["uniform", "mopps"]), history=histories(), data=st.data())
def test_where_it_is_promised_the_order_of_outcomes_does_not_matter(name, history, data):
    other = data.draw(st.permutations(history))
    assert ids(learned(name, history), 8, 1) == ids(learned(name, other), 8, 1)


@given(name=NAMES, seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_pool_of_one_is_drawn_from(name, seed):
    assert ids(learned(name, []), 3, seed, POOL[:1]) == ["task-0"] * 3


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_without_a_generator_its_own_goes_on(name):
    one, two = load_sampler(name, {}, seed=3), load_sampler(name, {}, seed=3)
    first = (
        [t.instance_id for t in one.sample(POOL, 4)],
        [t.instance_id for t in one.sample(POOL, 4)],
    )
    assert first[0] == [t.instance_id for t in two.sample(POOL, 4)]
    assert first[0] != first[1] or name == "adarft"
    assert all(isinstance(value, float) for value in one.metrics().values())


def test_what_faulted_is_no_evidence():
    from dataclasses import replace

    sampler = load_sampler("frontier_hybrid", {})
    sampler.sample(POOL, 1)
    group = as_group(Outcome("task-0", 1, 2), POOL[0])
    sampler.observe([replace(each, fault="sandbox", grade=None) for each in group])
    assert sampler.metrics()["episodes"] == 0
    sampler.observe(group)
    assert sampler.metrics()["episodes"] == 2


def shares(sampler, rounds=400):
    rng, counts = np.random.default_rng(0), dict.fromkeys((t.instance_id for t in POOL), 0)
    for _ in range(rounds):
        for task in sampler.sample(POOL, 4, rng=rng):
            counts[task.instance_id] += 1
    return counts


def test_the_hybrid_goes_where_outcomes_differ_and_still_looks_everywhere():
    history = [Outcome(t.instance_id, 8, 8) for t in POOL[:18]]
    history += [Outcome(t.instance_id, 0, 8) for t in POOL[18:36]]
    history += [Outcome(t.instance_id, 3, 8) for t in POOL[36:]]
    counts = shares(learned("frontier_hybrid", history))
    frontier = sum(counts[t.instance_id] for t in POOL[36:])
    assert frontier > 0.8 * sum(counts.values())
    assert min(counts.values()) > 0


def test_the_band_is_what_is_aimed_at():
    history = [Outcome(t.instance_id, 2, 8) for t in POOL[:20] for _ in range(3)]
    history += [Outcome(t.instance_id, 6, 8) for t in POOL[20:] for _ in range(3)]
    for band, better in (("0.2,0.6", range(20)), ("0.4,0.8", range(20, 40))):
        sampler = load_sampler("frontier_hybrid", {"band": band, "explore": "0"})
        sampler.sample(POOL, 1)
        for outcome in history:
            sampler.learn(outcome)
        counts = shares(sampler)
        assert sum(counts[f"task-{n}"] for n in better) > 0.9 * sum(counts.values())


def test_easy_to_hard_lets_in_the_easy_first_and_all_at_last():
    begin = shares(load_sampler("easy_to_hard", {"budget": "80"}))
    drawn = {name for name, count in begin.items() if count}
    easiest = {t.instance_id for t in POOL if t.features["difficulty"] == -3.0}
    assert drawn <= easiest
    end = shares(learned_with_budget())
    assert min(end.values()) > 0


def learned_with_budget():
    sampler = load_sampler("easy_to_hard", {"budget": "80"})
    sampler.sample(POOL, 1)
    for task in POOL[:10]:
        sampler.learn(Outcome(task.instance_id, 4, 8))
    return sampler


def test_adarft_moves_its_target_up_after_success_and_down_after_failure():
    sampler = load_sampler("adarft", {"batch": "8"})
    sampler.sample(POOL, 1)
    easy = shares(sampler, 20)
    sampler.learn(Outcome("task-0", 8, 8))
    up = sampler.metrics()["target"]
    assert up > 0
    assert shares(sampler, 20) != easy
    sampler.learn(Outcome("task-0", 0, 8))
    assert sampler.metrics()["target"] < up


@pytest.mark.parametrize("name", ["sfl", "plr"])
def test_the_measured_rules_return_to_what_had_mixed_outcomes(name):
    history = [Outcome(t.instance_id, 4 if n < 3 else 8, 8) for n, t in enumerate(POOL)]
    counts = shares(learned(name, history))
    mixed = sum(counts[f"task-{n}"] for n in range(3))
    assert mixed > 3 * 3 / len(POOL) * sum(counts.values())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"band": "0.9,0.2"}, "band: needs 0 <= low < high"),
        ({"band": "0,0.1"}, "middle from 1/3 to 2/3"),
        ({"explore": "2"}, "explore: must be from 0 to 1, got 2"),
        ({"half_life": "0"}, "half_life: must be greater than 0"),
        ({"explore": "much"}, "explore='much'"),
        ({"bnd": "0,1"}, "did you mean 'band'"),
    ],
)
def test_options_that_cannot_be_used(options, problem):
    with pytest.raises(UsageError, match=problem):
        load_sampler("frontier_hybrid", options)


class Lazy:
    """A plug-in that needs nothing of ours."""

    def sample(self, pool, n, *, rng=None):
        return [pool[0]] * n

    def observe(self, group):
        self.seen = len(group)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass

    def metrics(self):
        return {}


def test_a_plug_in_is_named_by_module_and_attribute_and_checked():
    assert load_sampler(f"{__name__}:Lazy", {}).sample(POOL, 2) == [POOL[0]] * 2
    with pytest.raises(UsageError, match="is no task sampler: it has no sample, observe"):
        load_sampler("fractions:Fraction", {})
    with pytest.raises(UsageError, match="it is no class"):
        load_sampler("json:dumps", {})
    with pytest.raises(NotFoundError, match="did you mean 'uniform'"):
        load_sampler("unifrom", {})


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_an_empty_pool_is_told(name):
    with pytest.raises(UsageError, match="the pool is empty"):
        load_sampler(name, {}).sample([], 1)
