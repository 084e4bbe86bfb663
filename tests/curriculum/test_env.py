"""The loop closed: an env draws from a curriculum, which learns how its episodes ended."""

import gymnasium as gym
import numpy as np
import pytest

import codegym
from codegym.agents.noop import Noop
from codegym.curriculum import open_curriculum
from codegym.envs.rollouts import Rollouts
from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick

SUBMIT = codegym.call("submit")
FIX = codegym.call(
    "bash",
    command="sed -i 's|return ordered.len(ordered) // 2.|middle = len(ordered) // 2; return "
    "ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2|' "
    "src/tinycalc/order.py",
)


def history(spec):
    curriculum = open_curriculum(spec)
    curriculum.refresh()
    return curriculum.history


def test_an_env_tells_its_curriculum_how_episodes_ended(write_spec):
    spec = write_spec()
    env = gym.make("CodeGym/FixTests-v0", tasks=f"curriculum:{spec}")
    try:
        _, first = env.reset(seed=1)
        assert env.reset(seed=1)[1]["task_id"] == first["task_id"]
        env.step(FIX)
        *_, info = env.step(SUBMIT)
        assert info["grade"].solved
        env.unwrapped.tasks.policy_version = "later"
        env.reset(options={"task_id": "tiny-5"})
        env.step(SUBMIT)
        env.reset()  # given up: that is no outcome
    finally:
        env.close()
    told = [(one.task_id, one.solved, one.episodes, one.policy) for one in history(spec)]
    assert told == [(first["task_id"], 1, 1, ""), ("tiny-5", 0, 1, "later")]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_so_does_a_vector(write_spec, mode):
    spec = write_spec()
    envs = gym.make_vec(
        "CodeGym/FixTests-v0", num_envs=2, tasks=f"curriculum:{spec}", autoreset_mode=mode
    )
    try:
        envs.reset(seed=0, options={"task_id": "tiny-0"})
        envs.step([FIX, "{}"])
        envs.step([SUBMIT, SUBMIT])
    finally:
        envs.close()
    assert sorted((one.task_id, one.solved) for one in history(spec)) == [
        ("tiny-0", 0),
        ("tiny-0", 1),
    ]


async def test_rollouts_draw_groups_from_it_and_it_learns_from_each(write_spec):
    spec = write_spec()
    setting = Setting(pick())
    try:
        rollouts = Rollouts(setting, open_curriculum(spec), workers=2, draws=3)
        groups = [group async for group in rollouts.groups(Noop(), size=2)]
    finally:
        await setting.close()
    assert len(groups) == 3
    told = [(one.task_id, one.solved, one.episodes, one.policy) for one in history(spec)]
    expected = [(group[0].task.instance_id, 0, 2, Noop.version) for group in groups]
    assert sorted(told) == sorted(expected)


def test_an_env_of_features_draws_features_alone(at_home):
    env = gym.make("CodeGym/ImplementFeature-v0", tasks="curriculum:adaptive")
    tasks = env.unwrapped.tasks
    assert 0 < len(tasks) == sum(task.kind == "ImplementFeature" for task in tasks)
    assert tasks.sample(np.random.default_rng(0)).kind == "ImplementFeature"
    assert tasks.state_path == open_curriculum("adaptive").state_path
