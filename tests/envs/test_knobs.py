"""A task with a knob presents itself so: to a policy in a real sandbox."""

from dataclasses import replace

import pytest

from codegym.envs import kinds
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.types import call


@pytest.fixture
async def begin(setting, source):
    begun = []

    async def begun_with(**fields):
        task = replace(source.get("tiny-0"), instance_id=f"tiny-knob-{len(begun)}", **fields)
        episode = Episode(setting, EpisodeOptions(max_steps=9))
        begun.append(episode)
        await episode.reset(task, seed=0)
        return episode

    yield begun_with
    for episode in begun:
        await episode.close()


async def test_tracebacks_are_told_or_not(begin):
    told, untold = await begin(features={"tracebacks": 1}), await begin(features={"tracebacks": 0})
    for episode, shown in ((told, True), (untold, False)):
        ran = await episode.step(call("run_tests"))
        assert "FAILED tests/test_order.py::test_median_of_even" in ran.observation.output
        assert ("assert 3 == 2.5" in ran.observation.output) is shown
        ended = await episode.step(call("submit"))
        assert "test_median_of_even failed" in ended.info.grade.text
        assert ("got 3" in ended.info.grade.text) is shown


async def test_a_budget_ends_an_episode(begin):
    episode = await begin(features={"max_steps": 2})
    assert episode.history.first.steps_left == 2
    assert not (await episode.step(call("bash", command="true"))).truncated
    last = await episode.step(call("bash", command="true"))
    assert (last.truncated, last.observation.steps_left) == (True, 0)
    roomy = await begin(features={"max_steps": 80})
    assert roomy.history.first.steps_left == 9


def test_a_level_of_detail_is_what_is_read(source):
    row = source.get("tiny-0")
    for kind in ("FixTests", "FixIssue"):
        for text in ("It is wrong.", "It is wrong: 3, not 2.5."):
            shown = kinds.present(replace(row, problem_statement=text), kind)
            assert text in kinds.instruction(shown, ("bash",), ())


def test_knobs_that_are_wrong_are_told_of(source):
    row = replace(source.get("tiny-0"), features={"max_steps": 0})
    with pytest.raises(UsageError, match=r"features\.max_steps: must be a whole number"):
        kinds.present(row, "FixTests")
