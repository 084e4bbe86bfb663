"""Simulations: the same every time, honest about what is counted, and hard to fool."""

import numpy as np
import pytest

from codegym.curriculum.samplers import load_sampler
from codegym.curriculum.simulation import LEARNERS, POOLS, Setup, compare
from codegym.curriculum.simulation.running import play
from codegym.curriculum.simulation.worlds import GROUP, POOL, make_learner


def hybrid(seed):
    return load_sampler("frontier_hybrid", {}, seed=seed)


def world(learner, pool="balanced", correlation=0.35, seed=0):
    return make_learner(learner, pool, correlation, np.random.default_rng(seed))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("pool", POOLS)
def test_a_learner_gets_better_at_tasks_it_never_saw(learner, pool):
    made, rng = world(learner, pool), np.random.default_rng(1)
    before = made.held_out()
    for _ in range(60):
        chances = made.chances()
        solved = made.practise(rng.permutation(POOL)[:32], rng)
        assert ((solved >= 0) & (solved <= GROUP)).all()
    assert chances.shape == (POOL,)
    assert made.held_out() > 1.2 * before


def test_pools_are_as_hard_as_they_are_called():
    for learner in ("irt", "grpo"):
        easy, balanced, hard = (world(learner, pool).held_out() for pool in POOLS)
        assert easy > balanced > hard


@pytest.mark.parametrize("correlation", [0.0, 0.35, 1.0])
def test_labels_are_as_good_as_is_said(correlation):
    made = world("irt", correlation=correlation)
    label = [task.features["difficulty"] for task in made.tasks]
    truth = -np.log(made.chances() / (1 - made.chances()))
    assert np.corrcoef(label, truth)[0, 1] == pytest.approx(correlation, abs=0.1)


def test_group_relative_learning_learns_nothing_where_all_episodes_end_alike():
    made = world("grpo", "hard")
    impossible = np.argsort(made.chances())[:32]
    before = made.chances()
    made.practise(impossible, np.random.default_rng(0))
    assert np.array_equal(made.chances(), before)


def test_the_same_seeds_give_the_same_and_all_rollouts_count():
    setup = Setup("irt", 0.35, [500])
    one, two = (play(hybrid, setup, "easy", 500) for _ in range(2))
    assert one == two
    assert one.reached
    assert one.rollouts % (32 * GROUP) == 0


def test_the_hybrid_is_well_ahead_of_uniform_and_behind_the_oracle():
    # Seeds that no published figure uses.
    setup = Setup("grpo", 0.35, range(900, 903))
    found = {r.sampler: r for r in compare({"frontier_hybrid": hybrid}, setup, ["balanced"])}
    assert found["uniform"].ratio == 1.0
    assert 1.4 < found["frontier_hybrid"].ratio < found["oracle"].ratio
    low, high = found["frontier_hybrid"].ci95
    assert low <= found["frontier_hybrid"].ratio <= high
    assert found["frontier_hybrid"].effective > found["uniform"].effective + 0.2


def test_where_nothing_can_be_won_nothing_is():
    setup = Setup("irt-constant", 0.35, range(900, 902))
    found = {r.sampler: r for r in compare({"frontier_hybrid": hybrid}, setup, ["balanced"])}
    assert found["frontier_hybrid"].ratio == pytest.approx(1.0, abs=0.05)


def test_a_plug_in_is_simulated_too():
    setup = Setup("irt", 0.35, [900])
    module = f"{__name__}:First"
    found = {
        r.sampler: r
        for r in compare({"first": lambda _: load_sampler(module, {})}, setup, ["easy"])
    }
    assert found["first"].reached == 1.0
    assert found["first"].rollouts != found["uniform"].rollouts


class First:
    """Draws the same tasks for ever, and looks at what it is told."""

    def sample(self, pool, n, *, rng=None):
        return list(pool[:n])

    def observe(self, group):
        assert len({result.task.instance_id for result in group}) == 1
        assert len(group) == GROUP
        assert all(result.grade.score in {0.0, 1.0} for result in group)

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass

    def metrics(self):
        return {}
