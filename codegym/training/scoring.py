"""From a model to the log-probabilities of chosen tokens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from codegym.errors import UsageError
from codegym.training.batching import Batch, batches
from codegym.training.sequences import Span, TokenSequence

#: Rows of the vocabulary's logits that are in memory at once.
_CHUNK = 1024


def hidden_states(model: Any, batch: Batch) -> Tensor:
    """What the model knows just before each token that is learned from; (N, width).

    The vocabulary's logits are never computed for other places.
    """
    if batch.shared:
        seen = batch.seen()
        hidden = torch.finfo(torch.float32).min
        attention = torch.zeros(seen.shape, device=seen.device).masked_fill(~seen, hidden)
    else:
        attention = (batch.branch >= 0).long()
    with _autocast(batch.ids.device):
        states = _decoder(model)(
            input_ids=batch.ids,
            attention_mask=attention,
            position_ids=batch.positions,
            use_cache=False,
        ).last_hidden_state
    kept: Tensor = states[batch.row, batch.before]
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


def shares_beginnings(model: Any) -> bool:
    """Whether a model computes sequences that share a row as it does each alone.

    One with windows, or with states instead of attention, does not.
    """
    base = tuple(2 + number % 29 for number in range(48))
    trial = [
        TokenSequence((*base, *end), (True,) * 48 + (False,) * 3, (0.0,) * 51, (Span(0, 48, 51),))
        for end in ((3, 5, 7), (11, 2, 4))
    ]
    device = next(model.parameters()).device
    found = []
    with torch.no_grad():
        for share in (True, False):
            (batch,) = batches(trial, max_tokens=1000, share=share, device=device)
            try:
                found.append(logprobs(model, hidden_states(model, batch), batch.targets))
            except (ValueError, TypeError, RuntimeError):  # it takes no such mask
                return False
    tolerance = 1e-3 if device.type == "cpu" else 0.1
    return bool(torch.allclose(*found, atol=tolerance, rtol=tolerance))
