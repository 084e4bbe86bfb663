"""From sequences to padded batches, and from a model to the log-probabilities of chosen tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from codegym.errors import UsageError
from codegym.training.sequences import TokenSequence

#: Rows of the vocabulary's logits that are in memory at once.
_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """Sequences side by side, padded on the right.

    Attributes:
        ids: Token ids, (B, T).
        attention: 1 where there is a token; (B, T).
        row: Row of each token that is learned from, sequence by sequence; (N,).
        column: Its column, at least 1: what precedes it predicts it; (N,).
        members: Each row's number among the sequences that batches were made of.
    """

    ids: Tensor
    attention: Tensor
    row: Tensor
    column: Tensor
    members: tuple[int, ...]

    @property
    def targets(self) -> Tensor:
        """The tokens that are learned from; (N,)."""
        return self.ids[self.row, self.column]


def batches(
    sequences: Sequence[TokenSequence], *, max_tokens: int, device: torch.device | str = "cpu"
) -> Iterator[Batch]:
    """Pack sequences of similar length together, each exactly once; the longest first.

    Out of memory then shows at once. A batch has at most ``max_tokens`` places, padding included,
    or one sequence.
    """
    order = sorted(range(len(sequences)), key=lambda one: (-len(sequences[one].ids), one))
    start = 0
    while start < len(order):
        count = max(1, max_tokens // len(sequences[order[start]].ids))
        members = order[start : start + count]
        yield _batch([sequences[one] for one in members], tuple(members), device)
        start += count


def _batch(
    rows: Sequence[TokenSequence], members: tuple[int, ...], device: torch.device | str
) -> Batch:
    width = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    attention = torch.zeros(len(rows), width, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row.ids)] = torch.tensor(row.ids)
        attention[number, : len(row.ids)] = 1
    places = [(number, place) for number, row in enumerate(rows) for place in row.actions]
    row, column = torch.tensor(places, dtype=torch.long).reshape(-1, 2).T
    return Batch(ids.to(device), attention.to(device), row.to(device), column.to(device), members)


def hidden_states(model: Any, batch: Batch) -> Tensor:
    """What the model knows just before each token that is learned from; (N, width).

    The vocabulary's logits are never computed for other places.
    """
    with _autocast(batch.ids.device):
        states = _decoder(model)(
            input_ids=batch.ids, attention_mask=batch.attention, use_cache=False
        ).last_hidden_state
    kept: Tensor = states[batch.row, batch.column - 1]
    return kept


def logits(model: Any, states: Tensor) -> Tensor:
    """The head's logits in float32, whatever the model's own precision; (N, vocabulary)."""
    head = _base(model).get_output_embeddings()
    bias = None if head.bias is None else head.bias.float()
    return torch.nn.functional.linear(states.float(), head.weight.float(), bias)


def logprobs(model: Any, states: Tensor, targets: Tensor) -> Tensor:
    """Log-probabilities of tokens; (N,).

    In chunks that are computed again for the gradient: the logits of all tokens at once would be
    most of the memory.
    """

    def of(states: Tensor, targets: Tensor) -> Tensor:
        return _gathered(logits(model, states), targets)

    parts = zip(states.split(_CHUNK), targets.split(_CHUNK), strict=True)
    return torch.cat([_again(of, *part) if len(states) > _CHUNK else of(*part) for part in parts])


def _again(function: Callable[..., Tensor], *given: Tensor) -> Tensor:
    made: Tensor = checkpoint(function, *given, use_reentrant=False)
    return made


def _gathered(logits: Tensor, targets: Tensor) -> Tensor:
    chosen: Tensor = logits.gather(-1, targets[:, None])[:, 0]
    return chosen - logits.logsumexp(-1)


def _base(model: Any) -> Any:
    """The causal model, out of its adapters' wrapping."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _decoder(model: Any) -> Any:
    base = _base(model)
    return getattr(base, base.base_model_prefix)


def _autocast(device: torch.device) -> AbstractContextManager[Any]:
    # On a CPU, bfloat16 is slower at these sizes.
    if device.type != "cuda":
        return nullcontext()
    half: AbstractContextManager[Any] = torch.autocast("cuda", dtype=torch.bfloat16)
    return half


def check_head(model: Any) -> None:
    """Refuse a model whose logits are more than its head's product with its last states.

    Raises:
        UsageError: It is one.
    """
    device = next(model.parameters()).device
    ids = torch.arange(2, 10, device=device)[None] % _base(model).config.vocab_size
    with torch.no_grad(), _autocast(device):
        whole = model(input_ids=ids, use_cache=False).logits
        states = _decoder(model)(input_ids=ids, use_cache=False).last_hidden_state
    with torch.no_grad():
        ours = logits(model, states)
    tolerance = 1e-3 if whole.dtype == torch.float32 else 0.25
    if not torch.allclose(whole.float(), ours, atol=tolerance, rtol=tolerance):
        kind = type(_base(model)).__name__
        raise UsageError(
            f"{kind}: its logits are scaled or capped after the head, which training does not "
            "know; choose another model"
        )
