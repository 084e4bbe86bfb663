"""TRL: tasks as a data set, episodes as environments, and rollouts with our own engine.

    data = trl.dataset("curriculum:adaptive")
    GRPOTrainer(model, args=…, train_dataset=data, environment_factory=trl.factory(data))

plays through TRL's own loop; ``rollout_func=trl.rollouts(data)`` with ``reward_funcs=trl.reward``
plays episodes at the same time, tokens in and tokens out, with the sampler's log-probabilities.
"""

from codegym.integrations.trl.data import Tasks, dataset
from codegym.integrations.trl.environment import factory
from codegym.integrations.trl.rollouts import reward, rollouts

__all__ = ["Tasks", "dataset", "factory", "reward", "rollouts"]
