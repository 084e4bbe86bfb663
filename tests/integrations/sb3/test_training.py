"""Training: real gradings, all four algorithms, stopping and going on."""

import json
import subprocess
import sys

import pytest

from codegym.agents import load_policy
from codegym.envs.marking import Marker
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.grading.setting import Setting
from codegym.integrations.sb3.board import Boards
from codegym.registration import resolve
from codegym.store.memo import ScoreMemo

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]


@pytest.fixture
def codegym(home):
    """Runs the command on little: few edits, one attempt."""

    def run(*arguments):
        command = [sys.executable, "-m", "codegym", "train", "sb3", "--tasks=tiny", "--json"]
        little = ["--candidates=4", "--attempts=1", "--workers=2", "--held-out=0.5"]
        given = [*command, *little, *arguments]
        return subprocess.run(given, cwd=home, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="module")
def memo(tmp_path_factory):
    """Grades that the tests of this file share."""
    return tmp_path_factory.mktemp("memo") / "grades.sqlite"


def test_stable_baselines_checker_takes_the_env(make):
    from stable_baselines3.common.env_checker import check_env

    # It advises, for its own networks' sake; any other warning fails.
    with pytest.warns(UserWarning, match="cand has an unconventional shape"):
        check_env(make(candidates=24))


def test_the_pointer_policy_does_not_know_a_slots_number(make):
    """Edits in another order get the same scores in that order, and never where there is none."""
    import numpy as np
    import torch

    from codegym.integrations.sb3.algorithms import make_model
    from codegym.integrations.sb3.envs import TogetherVecEnv

    envs = TogetherVecEnv([lambda: make(candidates=24)] * 2)
    model = make_model("maskable-ppo", envs, 0)
    observation, info = make(candidates=24).reset(options={"task_id": "tiny-minus"})
    order = np.random.default_rng(0).permutation(24)
    turned = {**observation, "cand": observation["cand"][order]}

    def scores(seen, mask):
        tensor, _ = model.policy.obs_to_tensor(seen)
        with torch.no_grad():
            told = model.policy.get_distribution(tensor, action_masks=mask)
            value = model.policy.predict_values(tensor)
        return told.distribution.probs[0].numpy(), float(value)

    mask = info["action_mask"]
    probs, value = scores(observation, mask)
    turned_probs, turned_value = scores(turned, mask[order])
    np.testing.assert_allclose(turned_probs, probs[order], rtol=1e-4)
    assert turned_value == pytest.approx(value, abs=1e-5)
    assert probs[~mask].sum() == 0
    envs.close()


@pytest.mark.parametrize("algo", ["maskable-ppo", "ppo", "a2c", "dqn"])
def test_every_algorithm_learns_from_the_env(make, memo, algo):
    from codegym.integrations.sb3.algorithms import make_model
    from codegym.integrations.sb3.envs import TogetherVecEnv

    shared = {"marker": Marker(ScoreMemo(memo)), "boards": Boards(4)}
    envs = TogetherVecEnv([lambda: make(candidates=4, **shared)] * 2)
    envs.seed(0)
    model = make_model(algo, envs, 0)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(136)  # more than one round of each
    assert model.num_timesteps >= 136
    changed = [n for n, v in model.policy.state_dict().items() if (v != before[n]).any()]
    assert changed
    tally = shared["marker"].tally
    assert tally.unique <= 4 * 7  # the rest came from memory
    assert tally.hits > 40
    assert tally.differences == 0
    envs.close()


def test_a_training_ends_goes_on_and_acts_by_the_tools(codegym, tmp_path):
    first = codegym("--steps=16", "--out", tmp_path / "run")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["steps"] == 16
    assert told["tasks"]["train"] + told["tasks"]["held_out"] == 7
    assert told["gradings"]["differences"] == 0
    assert told["gradings"]["unique"] + told["gradings"]["hits"] + told["gradings"]["again"] == 16
    for name in ("start", "random_edit", "unigram"):
        assert told[name]["tasks"] == told[name]["gradings"] == told["tasks"]["held_out"]
    assert list(told["after"]) == ["16"]

    more = json.loads(codegym("--steps=24", "--out", tmp_path / "run").stdout)
    assert list(more["after"]) == ["16", "24"]
    assert more["start"] == told["start"]
    assert more["steps"] == 24

    other = codegym("--steps=24", "--seed=1", "--out", tmp_path / "run")
    assert other.returncode == 2
    assert "another seed" in other.stderr


async def test_what_was_trained_acts_by_the_tools(make, memo, tmp_path):
    from codegym.integrations.sb3.algorithms import make_model
    from codegym.integrations.sb3.envs import TogetherVecEnv
    from codegym.integrations.sb3.folder import Progress, TrainFolder

    envs = TogetherVecEnv([lambda: make(candidates=4, memo=memo)])
    folder = TrainFolder(tmp_path, {"algo": "maskable-ppo", "candidates": 4})
    folder.checkpoint(make_model("maskable-ppo", envs, 0), Progress(steps=1))
    policy = load_policy(f"pointer:{tmp_path}", resolve("tiny"))
    assert policy.candidates == 4
    source = resolve("tiny").only(lambda task: task.instance_id == "tiny-minus")
    setting = Setting.on("auto")
    try:
        rollouts = Rollouts(setting, source, EpisodeOptions(), workers=1)
        (result,) = [one async for one in rollouts.run(policy)]
    finally:
        await setting.close()
    assert not result.error
    edit = next(t for t in result.trajectory.turns if json.loads(t.action.text)["name"] == "edit")
    assert edit.observation.output.startswith("edited src/tinycalc/arith.py")
    envs.close()


def test_an_unknown_algorithm_is_told(codegym, tmp_path):
    ran = codegym("--steps=8", "--algo=pppo", "--out", tmp_path / "run")
    assert ran.returncode == 2
    assert "did you mean 'ppo'" in ran.stderr
