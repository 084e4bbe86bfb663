"""Keys and values of many sequences in one tensor a layer, each sequence at a row of its own.

A model's layers write and read it as they do transformers' own caches. What is written past a
row's valid length (padding) is overwritten before any query can see it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel

from codegym.errors import UsageError

_GRAIN = 256  # lengths grow by so many tokens
_UNBOUNDED = 1 << 20


@dataclass(frozen=True)
class Step:
    """Where one forward pass writes and reads.

    Attributes:
        rows: Rows of the pool, shape (batch,).
        positions: Of each token, shape (batch, tokens).
        width: So many positions are read.
        first: Where ``rows`` are successive, the first: then nothing need be copied to read them.
    """

    rows: Tensor
    positions: Tensor
    width: int
    first: int | None


class Layer:
    """One layer's keys and values: tensors of shape (rows, heads, length, size)."""

    is_sliding = False
    is_compileable = False
    is_initialized = True

    def __init__(self) -> None:
        self.keys = torch.empty(0)
        self.values = torch.empty(0)
        self.shapes: tuple[tuple[int, int], ...] = ()
        self.step: Step | None = None

    def update(
        self, keys: Tensor, values: Tensor, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Write a pass's keys and values; return all that its queries may see."""
        step = self.step
        if step is None:  # the probe: only the shapes are wanted
            self.shapes = tuple((each.shape[1], each.shape[3]) for each in (keys, values))
            return keys, values
        return self._put(self.keys, keys, step), self._put(self.values, values, step)

    @staticmethod
    def _put(kept: Tensor, fresh: Tensor, step: Step) -> Tensor:
        # Of a model under autocast they come in another type than its weights have.
        kept[step.rows[:, None], :, step.positions] = fresh.transpose(1, 2).to(kept.dtype)
        seen = kept[:, :, : step.width]
        if step.first is None:
            return seen.index_select(0, step.rows)
        return seen[step.first : step.first + len(step.rows)]

    def get_seq_length(self) -> int:
        """Positions are given explicitly; nobody needs it."""
        return 0

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Masks are given explicitly; nobody needs it."""
        return query_length, 0


class Pool:
    """The cache of one model.

    Args:
        model: A causal model in which every layer attends to all that precedes.

    Attributes:
        rows: Sequences that there is room for.
        length: Tokens that each has room for.
        token_bytes: Memory of one token.

    Raises:
        UsageError: The model is of another kind, or its attention implementation is.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        names = inspect.signature(inner.forward).parameters
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._narrow = "logits_to_keep" in names
        self._config = inner.config.get_text_config()
        self._implementation = str(getattr(self._config, "_attn_implementation", "eager"))
        if self._implementation not in ("sdpa", "eager"):
            raise UsageError(
                f"attention {self._implementation!r} takes no mask of ours; load the model with "
                "attn_implementation='sdpa'"
            )
        self.device, self._dtype = model.device, model.dtype
        self._layers = [Layer() for _ in range(int(self._config.num_hidden_layers))]
        self.rows = self.length = 0
        self._probe()
        sizes = [heads * size for layer in self._layers for heads, size in layer.shapes]
        self.token_bytes: int = sum(sizes) * self._dtype.itemsize

    def _probe(self) -> None:
        """One token through the model tells the shapes of its keys and values."""
        zero = torch.zeros((1, 1), dtype=torch.long, device=self.device)
        seen = torch.ones((1, 1, 1, 1), dtype=torch.bool, device=self.device)
        cause: Exception | None = None
        try:
            self._call(zero, zero, seen, 1)
        except torch.OutOfMemoryError:
            raise
        except (ValueError, TypeError, AttributeError, RuntimeError) as error:
            cause = error
        if cause or not all(layer.shapes for layer in self._layers):
            raise UsageError(
                f"{type(self._model).__name__}: not every layer keeps keys and values as attention "
                "does; such a model needs engine=vllm"
            ) from cause

    @property
    def context_tokens(self) -> int:
        """Most tokens of a sequence; where layers have a window, within it."""
        bounds: list[int | None] = []
        bounds.append(getattr(self._config, "max_position_embeddings", None))
        kinds = getattr(self._config, "layer_types", None)
        if kinds is None or any(kind != "full_attention" for kind in kinds):
            bounds.append(getattr(self._config, "sliding_window", None))
        return min((bound for bound in bounds if bound), default=_UNBOUNDED)

    def bytes_of(self, rows: int, length: int) -> int:
        """Memory of a pool of that size."""
        return rows * rounded(length) * self.token_bytes

    def resize(self, rows: int, length: int, keep: Sequence[int] = ()) -> None:
        """Make room for so many sequences and tokens; rows ``keep`` become the first ones."""
        length = rounded(length)
        kept = torch.tensor(list(keep), dtype=torch.long, device=self.device)
        shared = min(length, self.length)
        for layer in self._layers:
            made = []
            for old, (heads, size) in zip((layer.keys, layer.values), layer.shapes, strict=True):
                new = self._zeros(rows, heads, length, size)
                if keep:
                    new[: len(keep), :, :shared] = old[kept, :, :shared]
                made.append(new)
            layer.keys, layer.values = made
        self.rows, self.length = rows, length

    @property
    def lazy(self) -> bool:
        """Whether room that is not used costs no memory."""
        return bool(self.device.type == "cpu")

    def _zeros(self, *shape: int) -> Tensor:
        """Zeros, since what is masked is still multiplied by 0: it must be finite."""
        if not self.lazy:
            return torch.zeros(shape, dtype=self._dtype, device=self.device)
        # From numpy the system gives each page when it is first written to; torch writes to all.
        plain = np.zeros(math.prod(shape) * self._dtype.itemsize, dtype=np.uint8)
        return torch.from_numpy(plain).view(self._dtype).view(shape)

    def drop(self) -> None:
        """Free all of it."""
        for layer in self._layers:
            layer.keys = layer.values = torch.empty(0)
        self.rows = self.length = 0
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def copy(self, source: int, target: int, tokens: int) -> None:
        """Copy the first ``tokens`` tokens from one row to another."""
        for layer in self._layers:
            for kept in (layer.keys, layer.values):
                kept[target, :, :tokens] = kept[source, :, :tokens]

    def forward(
        self,
        rows: Sequence[int],
        ids: Sequence[Sequence[int]],
        at: Sequence[int],
        wanted: Sequence[int],
    ) -> Tensor:
        """Read tokens into rows.

        Args:
            rows: Rows, each once.
            ids: Tokens for each, at least one.
            at: How many tokens each row has already.
            wanted: After how many of each row's last tokens logits are wanted.

        Returns:
            Float32 logits of shape (batch, most wanted, vocabulary), each row's first wanted ones
            first; what follows its last is of no meaning.
        """
        lengths = [len(each) for each in ids]
        most = max(lengths)
        width = max(start + most for start in at)
        if width > self.length:  # padding may reach past what the longest row needs
            self.resize(self.rows, width, range(self.rows))
        tokens = torch.tensor(
            [[*each, *([0] * (most - len(each)))] for each in ids], device=self.device
        )
        positions = torch.tensor(list(at), device=self.device)[:, None] + torch.arange(
            most, device=self.device
        )
        step = Step(
            torch.tensor(list(rows), device=self.device),
            positions,
            width,
            rows[0] if list(rows) == list(range(rows[0], rows[0] + len(rows))) else None,
        )
        for layer in self._layers:
            layer.step = step
        seen = torch.arange(width, device=self.device) <= positions[:, None, :, None]
        firsts = [length - want for length, want in zip(lengths, wanted, strict=True)]
        span = torch.arange(max(wanted), device=self.device)
        places = (torch.tensor(firsts, device=self.device)[:, None] + span).clamp(max=most - 1)
        keep, kept = torch.unique(places, return_inverse=True)
        limit = int(getattr(self._config, "max_position_embeddings", width)) - 1
        given = positions.clamp(max=max(limit, 0))
        logits = self._call(tokens, given, seen, keep)
        kept = kept if self._narrow else places
        return logits[torch.arange(len(lengths), device=self.device)[:, None], kept].float()

    def _call(self, tokens: Tensor, positions: Tensor, seen: Tensor, keep: Tensor | int) -> Tensor:
        mask = seen
        if self._implementation == "eager":
            lowest = torch.finfo(self._dtype).min
            mask = torch.zeros(seen.shape, dtype=self._dtype, device=self.device)
            mask = mask.masked_fill(~seen, lowest)
        cache: Any = Cache(layers=list(self._layers))
        narrow = {"logits_to_keep": keep} if self._narrow else {}
        with torch.inference_mode():
            out = self._model(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=positions,
                use_cache=True,
                **{self._cache_name: cache},
                **narrow,
            )
        logits: Tensor = out.logits
        return logits


def rounded(length: int) -> int:
    """A length as the pool has it."""
    return -(-length // _GRAIN) * _GRAIN
