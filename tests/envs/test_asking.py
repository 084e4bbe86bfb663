"""Asking a policy: what it may return, how long it may take, and whose fault the rest is."""

import asyncio

import pytest

from codegym.envs.asking import ask
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.errors import PolicyError, UsageError
from codegym.types import Action, History, Observation, call

HISTORY = History("t", (), Observation("", "", 1), (), 0)
SUBMIT = call("submit")


class Returns:
    version = "1"

    def __init__(self, value):
        self.value = value

    async def act(self, history):
        return self.value


class Raises:
    version = "1"

    def __init__(self, error):
        self.error = error

    async def act(self, history):
        raise self.error


class Hangs:
    """Looks once, then thinks for ever."""

    version = "1"

    def __init__(self):
        self.cut_off = 0

    async def act(self, history):
        if not history.turns:
            return Action(call("bash", command="echo new > new.txt"))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cut_off += 1
            raise


async def test_a_text_is_an_action():
    assert await ask(Returns(SUBMIT), HISTORY, 60) == Action(SUBMIT)
    whole = Action(SUBMIT, note="n")
    assert await ask(Returns(whole), HISTORY, 60) is whole


@pytest.mark.parametrize(
    ("value", "said"), [(None, "returned None"), ({"name": "submit"}, "a value of type dict")]
)
async def test_anything_else_is_none(value, said):
    with pytest.raises(UsageError, match=rf"policy .*:Returns: act .*{said}"):
        await ask(Returns(value), HISTORY, 60)


async def test_an_act_that_is_not_asynchronous_is_told():
    class Plain:
        version = "1"

        def act(self, history):
            return Action(SUBMIT)

    with pytest.raises(UsageError, match=r"Plain: act is not asynchronous.*async def act"):
        await ask(Plain(), HISTORY, 60)


@pytest.mark.parametrize("error", [KeyError("lost"), TimeoutError("slow"), ValueError("a\nb")])
async def test_what_it_raises_is_told_in_one_line(error):
    with pytest.raises(UsageError) as caught:
        await ask(Raises(error), HISTORY, 60)
    assert caught.value.__cause__ is error
    told = str(caught.value)
    assert ":Raises raised " + type(error).__name__ in told
    assert "test_asking.py:" in told
    assert "\n" not in told


async def test_an_error_with_a_meaning_keeps_it():
    error = PolicyError("the endpoint is down")
    with pytest.raises(PolicyError) as caught:
        await ask(Raises(error), HISTORY, 60)
    assert caught.value is error


async def test_its_time_is_bounded():
    history = History("t", (), Observation("", "", 1), (object(),), 0)
    policy = Hangs()
    assert await ask(policy, history, 0.01) is None
    assert policy.cut_off == 1


async def test_one_that_bounds_its_own_time_is_not_cut_off():
    class Patient:
        version, bounds_its_time = "1", True

        async def act(self, history):
            await asyncio.sleep(0.05)
            return Action(SUBMIT, lost_sec=0.05)

    assert (await ask(Patient(), HISTORY, 0.001)).lost_sec == 0.05


async def test_an_episode_whose_policy_thinks_for_ever_is_truncated_and_graded(setting, source):
    policy, options = Hangs(), EpisodeOptions(max_episode_sec=2.0)
    rollouts = Rollouts(setting, source, options, draws=1)
    (result,) = [each async for each in rollouts.run(policy)]
    assert policy.cut_off == 1
    assert (result.fault, result.trajectory.terminated, result.trajectory.truncated) == (
        "", False, True
    )  # fmt: skip
    assert result.grade is not None
    assert "new.txt" in result.diff
    first, last = result.trajectory.turns
    assert first.action.text
    assert (last.action.text, last.reward) == ("", 0.0)
    assert last.action.note == "no action in the time that was left"


async def test_its_work_earns_what_it_is_worth(setting, source, fix):
    class Repairs(Hangs):
        async def act(self, history):
            return fix if not history.turns else await super().act(history)

    rollouts = Rollouts(setting, source, EpisodeOptions(max_episode_sec=3.0), draws=1)
    (result,) = [each async for each in rollouts.run(Repairs())]
    assert (result.reward, result.trajectory.truncated) == (1.0, True)


async def test_a_policy_that_never_acts_is_graded_too(setting, source):
    class Idle(Hangs):
        async def act(self, history):
            await asyncio.Event().wait()

    rollouts = Rollouts(setting, source, EpisodeOptions(max_episode_sec=0.2), draws=1)
    (result,) = [each async for each in rollouts.run(Idle())]
    assert (result.fault, result.reward, len(result.trajectory.turns)) == ("", 0.0, 1)
