"""Vectors: ours, in every autoreset mode, and Gymnasium's own over our env."""

import gymnasium as gym
import numpy as np
import pytest
from children import make_tiny_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import codegym
from codegym.envs.slot import Slot
from codegym.envs.vector_env import CodeGymVectorEnv
from codegym.errors import NotFoundError, SandboxError, TaskError, UsageError

ID = "CodeGym/FixTests-v0"
SUBMIT = codegym.call("submit")
LOOK = codegym.call("bash", command="pwd")


@pytest.fixture
def make(home, at_home):
    made = []

    def make(num_envs=2, **arguments):
        made.append(gym.make_vec(ID, num_envs=num_envs, tasks="tiny", **arguments))
        return made[-1]

    yield make
    for envs in made:
        envs.close()


def test_make_vec_gives_ours(make):
    envs = make(3)
    assert isinstance(envs, CodeGymVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert "autoreset_mode" not in CodeGymVectorEnv.metadata
    obs, info = envs.reset(seed=0)
    assert obs in envs.observation_space
    assert envs.action_space.sample() in envs.action_space
    assert info["task_id"].shape == (3,)
    assert info["_task_id"].all()
    assert info["attestation"]["git_refs"].tolist() == [0, 0, 0]
    assert info["fault"].tolist() == ["", "", ""]
    assert info["grade"].tolist() == [None, None, None]


def test_next_step_resets_with_the_next_action(make, fix):
    envs = make(2, autoreset_mode="NextStep")
    envs.reset(seed=0, options={"task_id": ["tiny-0", "tiny-1"]})
    envs.step((fix, LOOK))
    obs, reward, terminated, truncated, info = envs.step((SUBMIT, LOOK))
    assert obs in envs.observation_space
    assert (reward.tolist(), terminated.tolist()) == ([1.0, 0.0], [True, False])
    assert not truncated.any()
    assert (reward.dtype, terminated.dtype) == (np.float64, np.bool_)
    assert info["grade"][0].solved
    assert info["grade"][1] is None
    obs, reward, terminated, truncated, info = envs.step((SUBMIT, SUBMIT))
    assert (reward.tolist(), terminated.tolist()) == ([0.0, 0.0], [False, True])
    assert info["steps"].tolist() == [0, 3]
    assert obs["output"][0] == ""
    assert obs["steps_left"].tolist() == [50, 47]


def test_same_step_resets_at_once_and_keeps_the_end(make):
    envs = make(2, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)
    obs, _, terminated, _, info = envs.step((SUBMIT, LOOK))
    assert terminated.tolist() == [True, False]
    assert obs["output"] == ("", "/workspace\n")
    assert info["steps"].tolist() == [0, 1]
    assert info["final_obs"][0]["output"] == "submitted"
    assert info["final_obs"][1] is None
    assert info["_final_info"].tolist() == [True, False]
    assert info["final_info"]["steps"].tolist() == [1, 0]
    assert info["final_info"]["grade"][0].score == 0.0
    assert info["final_info"]["_grade"].tolist() == [True, False]
    again = envs.step((LOOK, LOOK))
    assert again[0]["output"] == ("/workspace\n", "/workspace\n")
    assert "final_obs" not in again[4]


def test_disabled_leaves_the_reset_to_the_caller(make):
    envs = make(3, autoreset_mode="Disabled")
    before, _ = envs.reset(seed=0)
    envs.step((LOOK, SUBMIT, LOOK))
    with pytest.raises(UsageError, match=r"envs \[1\] have ended"):
        envs.step((LOOK, LOOK, LOOK))
    mask = np.array([False, True, False])
    obs, info = envs.reset(options={"reset_mask": mask, "task_id": [None, "tiny-hidden", None]})
    assert info["_task_id"].tolist() == [False, True, False]
    assert info["task_id"][1] == "tiny-hidden"
    assert obs["output"] == ("/workspace\n", "", "/workspace\n")
    assert obs["steps_left"].tolist() == [49, 50, 49]
    assert before["steps_left"].tolist() == [50, 50, 50]  # what was returned stays as it was
    envs.step((LOOK, LOOK, LOOK))


def test_a_group_on_one_task(make):
    envs = make(3)
    _, info = envs.reset(seed=0, options={"task_id": ["tiny-1"] * 3})
    assert info["task_id"].tolist() == ["tiny-1"] * 3
    _, info = envs.reset(options={"task_id": "tiny-0"})
    assert info["task_id"].tolist() == ["tiny-0"] * 3


def test_sub_envs_are_apart(make):
    envs = make(2)
    envs.reset(seed=0)
    actions = tuple(codegym.call("bash", command=f"echo {n} > own; cat own") for n in range(2))
    assert envs.step(actions)[0]["output"] == ("0\n", "1\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"seed": [1]}, "seed: expected 2 values"),
        ({"options": {"task_id": ["tiny-0"]}}, "task_id: expected 2 values"),
        ({"options": {"task_id": ["tiny-0", "tiny-9"]}}, "no task"),
        ({"options": {"reset_mask": np.array([False, False])}}, "reset_mask"),
        ({"options": {"reset_mask": np.array([1, 0])}}, "reset_mask"),
        ({"options": {"reset_mask": np.array([True])}}, "reset_mask"),
        ({"options": {"mask": 1}}, "did you mean 'reset_mask'|no reset option"),
    ],
)
def test_wrong_arguments_are_told(make, arguments, says):
    with pytest.raises(UsageError, match=says):
        make(2).reset(**arguments)


def test_wrong_options_are_told_at_once(source):
    with pytest.raises(NotFoundError, match="did you mean 'max_steps'"):
        CodeGymVectorEnv(2, tasks=source, max_step=3)
    with pytest.raises(NotFoundError, match="autoreset mode"):
        CodeGymVectorEnv(2, tasks=source, autoreset_mode="Never")
    with pytest.raises(UsageError, match="num_envs"):
        CodeGymVectorEnv(0, tasks=source)


def test_a_step_needs_a_reset_and_one_action_each(make):
    envs = make(2)
    with pytest.raises(UsageError, match="reset"):
        envs.step((LOOK, LOOK))
    envs.reset(seed=0)
    with pytest.raises(UsageError, match="expected 2 actions"):
        envs.step((LOOK,))


def test_rendering(make):
    envs = make(2, render_mode="ansi")
    envs.reset(seed=0)
    envs.step((LOOK, "nonsense"))
    texts = envs.render()
    assert "bash: pwd" in texts[0]
    assert "malformed action" in texts[1]


def test_close_is_idempotent(make):
    envs = make(2)
    envs.reset(seed=0)
    envs.close()
    envs.close()


class Broken:
    """Stands before a real episode; its sandbox fails."""

    def __init__(self, episode, error):
        self._episode, self._error = episode, error

    def __getattr__(self, name):
        return getattr(self._episode, name)

    async def reset(self, task, *, seed):
        raise self._error


@pytest.mark.parametrize(
    ("error", "fault"), [(SandboxError("gone"), "sandbox"), (TaskError("t", "broken"), "task")]
)
def test_a_sub_env_whose_reset_faults_ends_truncated_and_the_others_go_on(make, error, fault):
    envs = make(2)
    envs.reset(seed=0)
    slot = envs._slots[0]
    assert isinstance(slot, Slot)
    whole, slot._episode = slot._episode, Broken(slot._episode, error)
    obs, info = envs.reset()
    assert obs in envs.observation_space
    assert info["fault"].tolist() == [fault, ""]
    obs, reward, terminated, truncated, info = envs.step((LOOK, LOOK))
    assert obs in envs.observation_space
    assert obs["output"] == ("", "/workspace\n")
    assert (reward.tolist(), truncated.tolist()) == ([0.0, 0.0], [True, False])
    assert not terminated.any()
    assert info["fault"].tolist() == [fault, ""]
    slot._episode = whole
    _, _, _, truncated, info = envs.step((LOOK, LOOK))
    assert info["fault"].tolist() == ["", ""]
    assert not truncated.any()


def drive(envs):
    """The same actions on any vector; what must be the same comes back."""
    seen = []
    obs, info = envs.reset(seed=3)
    assert obs in envs.observation_space
    seen.append((obs["instruction"], info["task_id"].tolist()))
    for actions in ((LOOK, "nonsense"), (SUBMIT, LOOK), (LOOK, SUBMIT), (LOOK, LOOK)):
        obs, reward, terminated, truncated, info = envs.step(actions)
        assert obs in envs.observation_space
        seen.append(
            (
                obs["output"],
                obs["steps_left"].tolist(),
                reward.tolist(),
                terminated.tolist(),
                truncated.tolist(),
                info["task_id"].tolist(),
                info["steps"].tolist(),
                sorted(key for key in info if not key.startswith("_")),
            )
        )
    return seen


@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_ours_and_gymnasiums_own_say_the_same(make, mode):
    ours = drive(make(2, autoreset_mode=mode, max_output_chars=2000))
    stock = SyncVectorEnv([make_tiny_env, make_tiny_env], autoreset_mode=mode)
    try:
        assert drive(stock) == ours
    finally:
        stock.close()


@pytest.mark.parametrize("shared_memory", [False, True])
def test_gymnasiums_own_in_processes(make, shared_memory):
    ours = drive(make(2, max_output_chars=2000))
    stock = AsyncVectorEnv(
        [make_tiny_env, make_tiny_env], shared_memory=shared_memory, context="spawn"
    )
    try:
        assert drive(stock) == ours
    finally:
        stock.close()


def test_make_vec_takes_gymnasiums_own(make):
    envs = make(2, vectorization_mode="sync")
    assert isinstance(envs, SyncVectorEnv)
    assert envs.reset(seed=0)[0] in envs.observation_space
