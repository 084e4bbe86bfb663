"""A policy for ``MaskablePPO`` that scores every edit by one network, wherever it is in the list.

So what is learned of one place holds for all, and of one task for others. It is pure sharing: the
weights have no part that knows a slot's number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from gymnasium.spaces import Dict
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from codegym.agents.edits.context import BUCKETS, WIDTH

_EMBEDDED = 8
_HIDDEN = 64


class EditFeatures(BaseFeaturesExtractor):
    """Each edit's hashed features to a vector; all edits share the weights.

    From ``cand`` ``(B, K, WIDTH)`` and ``left`` ``(B, 1)`` to ``(B, K * (H + 1))``: for each of the
    K slots H numbers, and 1.0 where there is an edit, else 0.0.
    """

    def __init__(self, observation_space: Dict, hidden: int = _HIDDEN) -> None:
        slots = observation_space["cand"].shape[0]  # type: ignore[index]
        super().__init__(observation_space, slots * (hidden + 1))
        self.embedding = nn.Embedding(BUCKETS * WIDTH, _EMBEDDED)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.network = nn.Sequential(
            nn.Linear(WIDTH * _EMBEDDED + 1, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
        )
        self.register_buffer("field", torch.arange(WIDTH) * BUCKETS, persistent=False)

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        """See the class."""
        cells = observations["cand"]
        embedded = self.embedding((cells * BUCKETS).round().long() + self.field).flatten(2)
        left = observations["left"].unsqueeze(1).expand(-1, cells.shape[1], -1)
        seen = self.network(torch.cat([embedded, left], dim=2))
        there = (cells[..., :1] > 0).to(seen.dtype)
        return torch.cat([seen * there, there], dim=2).flatten(1)


class _Apart(nn.Module):
    """What actor and critic get of the features: the actor all, the critic the edits' mean."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.latent_dim_pi, self.latent_dim_vf = width, hidden
        self._hidden = hidden

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: torch.Tensor) -> torch.Tensor:
        return features

    def forward_critic(self, features: torch.Tensor) -> torch.Tensor:
        slots = features.unflatten(1, (-1, self._hidden + 1))
        seen, there = slots[..., :-1], slots[..., -1:]
        return seen.sum(1) / there.sum(1).clamp(min=1.0)


class _Scores(nn.Module):
    """One score for each slot, by one linear layer."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self._hidden = hidden
        self.linear = nn.Linear(hidden, 1)

    def forward(self, latent: torch.Tensor) -> torch.Tensor:
        slots = latent.unflatten(1, (-1, self._hidden + 1))
        scores: torch.Tensor = self.linear(slots[..., :-1]).squeeze(2)
        return scores


class PointerPolicy(MaskableMultiInputActorCriticPolicy):
    """``MaskablePPO(PointerPolicy, env)``; its observations are those of ``CandidateEdits``."""

    def __init__(self, *args: Any, hidden: int = _HIDDEN, **kwargs: Any) -> None:
        self.hidden = hidden
        kwargs["features_extractor_class"] = EditFeatures
        kwargs["features_extractor_kwargs"] = {"hidden": hidden}
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = _Apart(self.features_dim, self.hidden)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = _Scores(self.hidden)
        # The first choices are those of chance: nothing is known yet.
        self.action_net.apply(partial(self.init_weights, gain=0.01))
        self.optimizer = self.optimizer_class(
            self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data: dict[str, Any] = super()._get_constructor_parameters()
        return data | {"hidden": self.hidden}
