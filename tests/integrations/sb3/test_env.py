"""Edits to choose from, as a Gymnasium env: real gradings in real sandboxes."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import codegym  # noqa: F401 - registers the ids
from codegym.agents.edits.prior import is_answer
from codegym.envs.episode import Episode
from codegym.envs.session import Session
from codegym.errors import UsageError
from codegym.integrations.sb3.board import board_of
from codegym.store import LayerStore
from codegym.types import call


def answer_of(env, task_id):
    board = env.board(task_id)
    return next(n for n, edit in enumerate(board.edits) if is_answer(board.task, edit))


def wrong_of(env, task_id):
    board = env.board(task_id)
    return next(n for n, edit in enumerate(board.edits) if not is_answer(board.task, edit))


def test_the_answer_solves_and_ends_the_episode(make):
    env = make(candidates=32)
    observation, info = env.reset(options={"task_id": "tiny-minus"})
    assert observation["cand"].shape == (32, 14)
    assert info["action_mask"].sum() == len(env.board("tiny-minus").edits) < 32
    _, reward, terminated, truncated, info = env.step(answer_of(env, "tiny-minus"))
    assert (reward, terminated, truncated, info["solved"]) == (1.0, True, False, True)
    with pytest.raises(UsageError, match="over"):
        env.step(0)


def test_a_tried_edit_is_masked_and_the_last_attempt_ends_the_episode(make):
    env = make(candidates=32)
    env.reset(options={"task_id": "tiny-minus"})
    wrong = wrong_of(env, "tiny-minus")
    observation, reward, terminated, _, info = env.step(wrong)
    assert (reward, terminated) == (0.0, False)
    assert not info["action_mask"][wrong]
    assert not observation["cand"][wrong].any()
    assert observation["left"] == [0.5]
    assert (info["action_mask"] == env.action_masks()).all()
    _, reward, terminated, _, info = env.step(wrong)  # in vain, and nothing is graded
    assert (reward, terminated, info["solved"], env.marker.tally.unique) == (0.0, True, False, 1)


def test_what_is_seen_does_not_depend_on_the_answer(make):
    """Another gold patch of the same start: the same edits in the same order, seen alike."""
    env, session = make(candidates=64), Session()
    task = env.tasks.get("tiny-minus")
    twin = replace(task, patch=task.patch.replace("+= number", "+= 1 * number"))
    assert twin.patch != task.patch

    async def board():
        return await board_of(await session.setting(), twin, 64, LayerStore())

    try:
        other = session.run(board())
    finally:
        session.close()
    known = env.board("tiny-minus")
    assert [(e.path, e.edit) for e in other.edits] == [(e.path, e.edit) for e in known.edits]
    np.testing.assert_array_equal(other.cells, known.cells)


def test_grading_an_edit_is_grading_the_work_of_a_policy_that_made_it(make):
    env = make(candidates=32)
    board = env.board("tiny-empty")
    edit, session = board.edits[answer_of(env, "tiny-empty")], Session()

    async def played():
        episode = Episode(await session.setting())
        await episode.reset(board.task)
        await episode.step(call("write", path=edit.path, content=edit.mutant.decode()))
        result = await episode.step(call("submit"))
        return episode.work, result

    try:
        work, result = session.run(played())
    finally:
        session.close()
    assert work == board.work(answer_of(env, "tiny-empty"))
    assert result.reward == 1.0


def test_gymnasiums_checker_and_its_id(tmp_path):
    env = gym.make(
        "CodeGym/CandidateEdits-v0", tasks="tiny", candidates=24, memo=str(tmp_path / "memo")
    )
    check_env(env.unwrapped, skip_render_check=True)
    assert gym.spec("CodeGym/CandidateEdits-v0").nondeterministic
    assert env.get_wrapper_attr("action_masks")().shape == (24,)
    env.close()


def test_the_same_seed_gives_the_same_task_and_the_same_edits(make):
    first, second = make(candidates=24), make(candidates=24)
    seen = [env.reset(seed=5) for env in (first, second)]
    assert seen[0][1]["task_id"] == seen[1][1]["task_id"]
    np.testing.assert_array_equal(seen[0][0]["cand"], seen[1][0]["cand"])


@pytest.mark.parametrize("options", [{"candidates": 0}, {"attempts": 0}])
def test_impossible_options_are_refused(make, options):
    with pytest.raises(UsageError, match="1 or more"):
        make(**options)


def test_an_action_that_is_none_is_refused(make):
    env = make(candidates=24)
    with pytest.raises(UsageError, match="reset"):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(UsageError, match="0 to 23"):
        env.step(24)
