"""Training: real gradings, all four algorithms, stopping and going on."""

import json
import subprocess
import sys

import pytest

from codegym.agents import load_policy
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.grading.setting import Setting
from codegym.registration import resolve

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]


@pytest.fixture
def codegym(home):
    def run(*arguments):
        command = [sys.executable, "-m", "codegym", "train", "sb3", "--tasks=tiny", "--json"]
        given = [*command, "--candidates=24", "--workers=2", "--held-out=0.5", *arguments]
        return subprocess.run(given, cwd=home, capture_output=True, text=True, check=False)

    return run


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


def test_a_training_ends_and_goes_on_and_tells_what_it_graded(codegym, tmp_path):
    first = codegym("--steps=32", "--out", tmp_path / "run")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["steps"] == 32
    assert told["tasks"]["train"] + told["tasks"]["held_out"] == 7
    assert told["gradings"]["differences"] == 0
    made = told["gradings"]["unique"] + told["gradings"]["hits"] + told["gradings"]["again"]
    assert made <= 32  # each is an attempt that was graded, or in vain
    for name in ("start", "random_edit", "unigram"):
        assert told[name]["tasks"] == told["tasks"]["held_out"]
        assert told[name]["gradings"] >= told[name]["tasks"]
    assert list(told["after"]) == ["32"]

    again = json.loads(codegym("--steps=32", "--out", tmp_path / "run").stdout)
    assert again == told
    more = json.loads(codegym("--steps=96", "--out", tmp_path / "run").stdout)
    assert list(more["after"]) == ["32", "96"]
    assert more["start"] == told["start"]
    assert more["steps"] == 96
    assert more["gradings"]["hits"] > 0

    policy = load_policy(f"pointer:{tmp_path / 'run'}", resolve("tiny"))
    assert policy.version.startswith("maskable-ppo-")
    assert policy.candidates == 24

    other = codegym("--steps=96", "--seed=1", "--out", tmp_path / "run")
    assert other.returncode == 2
    assert "another seed" in other.stderr


async def test_what_was_trained_acts_by_the_tools(codegym, tmp_path):
    codegym("--steps=8", "--out", tmp_path / "run")
    policy = load_policy(f"pointer:{tmp_path / 'run'}", resolve("tiny"), {"attempts": "2"})
    setting = Setting.on("auto")
    try:
        rollouts = Rollouts(setting, resolve("tiny"), EpisodeOptions(), workers=2)
        results = [one async for one in rollouts.run(policy)]
    finally:
        await setting.close()
    assert len(results) == 7
    assert not [one.error for one in results if one.fault]
    edits = [t for one in results for t in one.trajectory.turns if '"edit"' in t.action.text[:20]]
    assert len(edits) >= 7
    assert not [t.observation.output for t in edits if "failed" in t.observation.output]


@pytest.mark.parametrize("algo", ["ppo", "a2c", "dqn"])
def test_other_algorithms_train_too(codegym, tmp_path, algo):
    ran = codegym("--steps=80", "--algo", algo, "--out", tmp_path / algo)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["steps"] == 80


def test_an_unknown_algorithm_is_told(codegym, tmp_path):
    ran = codegym("--steps=8", "--algo=pppo", "--out", tmp_path / "run")
    assert ran.returncode == 2
    assert "did you mean 'ppo'" in ran.stderr
