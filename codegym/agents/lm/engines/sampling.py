"""Drawing tokens. The log-probability of each is that of the distribution it was drawn from."""

from __future__ import annotations

import torch
from torch import Tensor


def draw(
    logits: Tensor, temperatures: Tensor, top_ps: Tensor, chances: Tensor
) -> tuple[Tensor, Tensor]:
    """Draw one token for each row.

    Args:
        logits: Float32, of shape (rows, vocabulary).
        temperatures: >= 0, of shape (rows,); 0 takes the likeliest token.
        top_ps: In (0, 1], of shape (rows,): the smallest set of likeliest tokens that has at least
            so much probability is drawn from.
        chances: Uniform in [0, 1), of shape (rows,).

    Returns:
        Token ids and natural-log probabilities, each of shape (rows,). At temperature 0 the latter
        is the model's own, at temperature 1: the draw itself is certain.
    """
    greedy = temperatures == 0
    logprobs = torch.log_softmax(logits / torch.where(greedy, 1.0, temperatures)[:, None], -1)
    likeliest = logits.argmax(-1)
    if bool(greedy.all()):
        return likeliest, _at(logprobs, likeliest)
    if bool((top_ps < 1).any()):
        logprobs = torch.where(greedy[:, None], logprobs, _nucleus(logprobs, top_ps))
    heights = logprobs.exp().cumsum(-1, dtype=torch.float64)
    marks = chances.to(torch.float64)[:, None] * heights[:, -1:]
    # The first whose height is above the mark: never one of probability 0.
    drawn = torch.searchsorted(heights, marks, right=True)[:, 0]
    drawn = torch.where(greedy, likeliest, drawn)
    return drawn, _at(logprobs, drawn)


def _nucleus(logprobs: Tensor, top_ps: Tensor) -> Tensor:
    """The distribution among the likeliest tokens alone."""
    ordered, places = logprobs.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()
    # What is kept of equals does not depend on the batch: the sort's first is always kept.
    out = (before >= top_ps[:, None]) & (top_ps[:, None] < 1)
    out[:, 0] = False
    kept = ordered.masked_fill(out, -torch.inf)
    spread = torch.full_like(logprobs, -torch.inf).scatter(-1, places, kept)
    return torch.log_softmax(spread, -1)


def _at(values: Tensor, places: Tensor) -> Tensor:
    return values.gather(-1, places[:, None])[:, 0]
