"""Rewards, and the law of shaping: it adds nothing to a whole episode."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.log import potential_after
from codegym.envs.options import EpisodeOptions
from codegym.envs.rewards import Honest, Progress, Shaped, Solved, load_reward
from codegym.errors import NotFoundError, UsageError
from codegym.types import (
    Action,
    Grade,
    Observation,
    Tampering,
    TestOutcome,
    Trajectory,
    Turn,
)

NOTHING = Trajectory("x", "", 0, Observation("", "", 0))


def grade(passed, failed, **fields):
    outcomes = [TestOutcome(test, "passed") for test in passed]
    outcomes += [TestOutcome(test, "failed") for test in failed]
    return Grade(score=float(not failed), outcomes=tuple(outcomes), **fields)


def test_solved_is_the_score():
    assert Solved()(Grade(1.0), NOTHING) == 1.0
    assert Solved()(Grade(0.0, fail_to_pass=0.9), NOTHING) == 0.0
    assert not isinstance(Solved(), Shaped)


def test_honest_subtracts_for_tampering_and_only_for_that():
    cheat = grade(["a"], [], tampering=(Tampering("edited_tests", "t.py", ""),))
    curious = Grade(1.0, attempts=(Tampering("git", "", "looked into the history"),))
    assert isinstance(load_reward("honest"), Honest)
    assert [Honest()(one, NOTHING) for one in (Grade(1.0), Grade(0.0), cheat, curious)] == [
        *(1.0, 0.0, -1.0, 1.0),
    ]


def test_progress_measures_shown_tests_only():
    progress = Progress()
    assert isinstance(progress, Shaped)
    verdict = grade(["a", "c", "h"], ["b", "d"])
    assert progress.potential(verdict, ["a", "b", "c", "d"], ["a", "b", "h"]) == 0.25
    without_hidden = grade(["a", "c"], ["b", "d", "h"])
    assert progress.potential(without_hidden, ["a", "b", "c", "d"], ["a", "b", "h"]) == 0.25
    assert progress.potential(grade(["a", "b"], []), ["a", "b"], ["a", "b"]) == 1.0
    assert progress.potential(grade([], ["a"]), ["a"], ["a"]) == 0.0


def test_tampering_has_no_potential():
    cheat = grade(["a"], [], tampering=(Tampering("edited_tests", "t.py", ""),))
    assert Progress().potential(cheat, ["a"], ["a"]) == 0.0


@given(
    potentials=st.lists(st.floats(0, 1), max_size=20),
    gamma=st.floats(0.5, 1.0),
    score=st.sampled_from([0.0, 1.0]),
)
def test_shaping_adds_nothing_to_the_discounted_return(potentials, gamma, score):
    path = [0.0, *potentials, 0.0]
    rewards = [gamma * after - before for before, after in pairwise(path)]
    rewards[-1] += score
    total = sum(gamma**step * reward for step, reward in enumerate(rewards))
    assert total == pytest.approx(gamma ** (len(rewards) - 1) * score, abs=1e-6)


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.9, 1.0))
def test_the_potential_is_read_back_from_the_rewards(potentials, gamma):
    path = [0.0, *potentials]
    turns = [
        Turn(Action(""), NOTHING.first, gamma * after - before, 0.0)
        for before, after in pairwise(path)
    ]
    assert potential_after(turns, gamma) == pytest.approx(path[-1], abs=1e-6)


class NoReward:
    """Neither callable nor with a range."""


def test_a_reward_is_named():
    assert isinstance(load_reward("progress"), Progress)
    assert isinstance(load_reward("codegym.envs.rewards:Solved"), Solved)
    with pytest.raises(NotFoundError, match="did you mean 'solved'"):
        load_reward("solve")
    with pytest.raises(UsageError, match="is no reward"):
        load_reward("codegym.envs.rewards:BUILTIN")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gamma": 0.0}, "gamma: must be a number in"),
        ({"gamma": 1.5}, "gamma"),
        ({"max_steps": 0}, "max_steps: must be a whole number, at least 1, got 0"),
        ({"max_steps": 2.5}, "max_steps"),
        ({"max_steps": True}, "max_steps"),
        ({"max_output_chars": 10}, "max_output_chars"),
        ({"max_episode_sec": 0}, "max_episode_sec"),
        ({"command_timeout_sec": float("nan")}, "command_timeout_sec"),
        ({"tools": "bash"}, "tools: expected"),
        ({"tools": []}, "empty"),
        ({"tools": ["bash", "bash"]}, "two are named 'bash'"),
        ({"tools": ["bahs"]}, "did you mean 'bash'"),
        ({"tools": ["codegym.envs.rewards:Solved"]}, "is no tool: it lacks name"),
        ({"kind": "Fix"}, "no kind named"),
        ({"reward": "progres"}, "did you mean 'progress'"),
    ],
)
def test_options_are_checked_when_they_are_made(options, says):
    with pytest.raises(UsageError, match=says):
        EpisodeOptions(**options)
