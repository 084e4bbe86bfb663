"""Generation in this process with transformers: one batch that requests join and leave.

All running requests take one step at a time together. A sequence's keys and values are kept after
its request ends, so that the next turn's prompt, which goes on from there, costs only what is new.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from codegym.types import SamplingParams, TokenTrace

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TransformersEngine:
    """Generates for many callers at once. Of one event loop at a time.

    Args:
        model: A causal model on its device; the trainer's own object may be given, and trained
            further while nothing is generated (see ``refresh``).
        tokenizer: Its tokenizer.
        stop_ids: Tokens that end a completion; the model's own are added.
        version: Of the weights.
        max_batch: Most sequences generated at once.
        cache_bytes: Most memory for keys and values; None: half of what is free on the device.

    Raises:
        UsageError: The model's attention is of a kind that it cannot cache.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        stop_ids: frozenset[int] = frozenset(),
        version: str = "",
        max_batch: int = 64,
        cache_bytes: int | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def version(self) -> str:
        """Of the weights."""
        raise NotImplementedError

    @property
    def context_tokens(self) -> int:
        """Most tokens of a prompt and its completion together."""
        raise NotImplementedError

    async def generate(self, prompt_ids: list[int], params: SamplingParams) -> TokenTrace:
        """Sample a continuation.

        Log-probabilities are those of the distribution that was sampled from: after temperature
        and nucleus (``top_p``). At temperature 0 they are the model's own, at temperature 1.
        A completion ends with a stop token, after a stop string, after ``max_tokens``, or where the
        context is full. The same seed gives the same tokens, whatever else is in the batch.

        Raises:
            UsageError: The prompt is empty or leaves no room in the context.
            UnavailableError: There is too little memory even for this request alone.
        """
        raise NotImplementedError

    async def load_weights(self, weights: Mapping[str, torch.Tensor], version: str) -> None:
        """Copy weights in (a state dict, or part of one), then ``refresh``."""
        raise NotImplementedError

    async def refresh(self, version: str) -> None:
        """Note that the model's weights were changed in place: what is cached is forgotten."""
        raise NotImplementedError

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """No step runs within; running requests go on afterwards, under the weights there then."""
        raise NotImplementedError
        yield

    async def aclose(self) -> None:
        """Free the cache; requests that wait are cancelled. Idempotent: it can be used again."""
        raise NotImplementedError
