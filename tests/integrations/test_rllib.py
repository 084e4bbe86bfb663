"""RLlib's PPO, on its new API stack, on edits that real gradings judge."""

import numpy as np
import pytest
from support import make_tiny_home

pytest.importorskip("ray.rllib")
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.fixture
def alone():
    """A cluster of this test's own, which ends with it."""
    import ray

    ray.init(address="local", num_cpus=1, object_store_memory=80_000_000, log_to_driver=False)
    yield
    ray.shutdown()


def test_ppo_trains_for_three_iterations(alone, home, tmp_path):
    from ray.rllib.algorithms.ppo import PPOConfig

    from codegym.integrations.ray.rllib import ENV, register

    register()
    given = {"tasks": "tiny", "candidates": 8, "attempts": 2, "memo": str(tmp_path / "memo.db")}
    algorithm = (
        PPOConfig()
        .environment(ENV, env_config=given)
        .env_runners(num_env_runners=0, rollout_fragment_length=8)
        .training(train_batch_size=8, minibatch_size=4, num_epochs=2)
        .debugging(seed=1)
        .build_algo()
    )
    before = _weights(algorithm)
    results = [algorithm.train() for _ in range(3)]
    assert [each["training_iteration"] for each in results] == [1, 2, 3]
    assert results[-1]["env_runners"]["num_env_steps_sampled_lifetime"] >= 24
    assert any((before[name] != value).any() for name, value in _weights(algorithm).items())
    algorithm.stop()


def _weights(algorithm):
    state = algorithm.get_module().get_state()
    return {name: np.array(value) for name, value in state.items()}
