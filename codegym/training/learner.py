"""A model and its optimiser: takes steps, and can be written down and gone on with exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.training.batching import Batch, batches
from codegym.training.checkpoint import STATE_FILE
from codegym.training.models import save_model
from codegym.training.ranges import ABOVE_0, ABOVE_0_TO_1, FROM_0, FROM_1, check
from codegym.training.scoring import check_head, hidden_states, shares_beginnings
from codegym.training.sequences import TokenSequence

_MEND = (
    ". Point `latest` beside its folder at the step before, where there is one, or begin anew with "
    "another --out"
)


@dataclass(frozen=True, slots=True)
class Steps:
    """How steps are taken.

    Attributes:
        learning_rate: Of AdamW, above 0 and at most 1.
        warmup: Steps over which it grows to that, >= 0.
        max_norm: Bound on the gradient's norm, above 0.
        max_tokens: Places of a micro-batch, padding included, >= 1. Memory and speed depend on it,
            results don't.
    """

    learning_rate: float = 2e-4
    warmup: int = 0
    max_norm: float = 1.0
    max_tokens: int = 8192

    def __post_init__(self) -> None:
        """Raise ``UsageError`` where one is out of its range."""
        check(self, learning_rate=ABOVE_0_TO_1, warmup=FROM_0, max_norm=ABOVE_0, max_tokens=FROM_1)


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken: its loss, the gradient's norm before it was bounded."""

    loss: float
    norm: float


class Learner:
    """Takes optimiser steps.

    Attributes:
        model: A causal model of ``transformers``, perhaps with adapters.
        step: Steps taken so far.
    """

    def __init__(self, model: Any, tokenizer: Any, how: Steps) -> None:
        self.model, self._tokenizer, self._how = model, tokenizer, how
        self.step = 0
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=how.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
        )
        check_head(model)
        self._share = shares_beginnings(model)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def batches(self, sequences: Sequence[TokenSequence]) -> Iterator[Batch]:
        """The micro-batches of a step."""
        return batches(
            sequences, max_tokens=self._how.max_tokens, share=self._share, device=self.device
        )

    def update(
        self, sequences: Sequence[TokenSequence], loss_of: Callable[[Batch, Tensor], Tensor]
    ) -> Taken:
        """Take a step, over micro-batches.

        Args:
            sequences: What is learned from; not empty.
            loss_of: The part of the loss that is a micro-batch's, given it and its
                ``hidden_states``. The parts are summed, so each is divided by what belongs to the
                whole.

        Raises:
            UsageError: The loss or its gradient is no number, and the weights are as before; or
                they are no numbers any more.
            UnavailableError: Out of memory. Likewise.
        """
        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        with memory_told(), self._training():
            for batch in self.batches(sequences):
                loss = loss_of(batch, hidden_states(self.model, batch))
                loss.backward()
                total += loss.item()
        norm = float(torch.nn.utils.clip_grad_norm_(self._weights, self._how.max_norm))
        if not (math.isfinite(total) and math.isfinite(norm)):
            self._optimizer.zero_grad(set_to_none=True)
            raise UsageError(
                f"step {self.step + 1}: the loss is {total:g} and its gradient's norm {norm:g}; "
                "the step was not taken and what was learned before is kept. A lower "
                "--learning-rate may help"
            )
        for group in self._optimizer.param_groups:
            done = min(1.0, (self.step + 1) / (self._how.warmup + 1))
            group["lr"] = self._how.learning_rate * done
        self._optimizer.step()
        self.step += 1
        if not self.sound():
            raise UsageError(
                f"step {self.step} made weights that are no numbers; it is not kept, the newest "
                "checkpoint is. A lower --learning-rate may help"
            )
        return Taken(total, norm)

    @contextmanager
    def _training(self) -> Iterator[None]:
        """On a GPU, compute activations again for the gradient: that needs the mode."""
        if self.device.type != "cuda":
            yield
            return
        self.model.train()
        try:
            yield
        finally:
            self.model.eval()

    def save(self, folder: Path, **more: Any) -> None:
        """Write the model, the tokenizer, and all else that going on needs.

        Args:
            folder: Empty.
            **more: Tensors, numbers, texts, and dicts and lists of them, under names of their own.
        """
        save_model(self.model, self._tokenizer, folder)
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        state = {
            "step": self.step,
            "optimizer": self._optimizer.state_dict(),
            # The file of the model is for its readers, perhaps in another precision.
            "weights": [weight.detach().cpu() for weight in self._weights],
            "rng": {"cpu": torch.get_rng_state(), "cuda": cuda},
            **more,
        }
        torch.save(state, folder / STATE_FILE)

    def load(self, folder: Path) -> dict[str, Any]:
        """Put back what ``save`` wrote; returns it, with what else was given.

        Raises:
            DataError: It cannot be read, or is of another model.
        """
        file = folder / STATE_FILE
        try:
            state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
            with torch.no_grad():
                for weight, saved in zip(self._weights, state["weights"], strict=True):
                    weight.copy_(saved)
            self._optimizer.load_state_dict(state["optimizer"])
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise DataError(file, f"cannot be gone on from: {error}{_MEND}") from error
        torch.set_rng_state(state["rng"]["cpu"])
        if state["rng"]["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["rng"]["cuda"])
        self.step = state["step"]
        return state

    def sound(self) -> bool:
        """Whether all weights are numbers."""
        return all(bool(torch.isfinite(weight).all()) for weight in self._weights)


@contextmanager
def memory_told() -> Iterator[None]:
    """Say what to do where memory does not suffice.

    Raises:
        UnavailableError: It does not.
    """
    try:
        yield
    except RuntimeError as error:
        # On a CPU there is no class for it.
        if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
            raise UnavailableError(
                "there is not enough memory for a step",
                "What was learned before is kept. Give a lower --max-tokens, fewer --samples, "
                "--lora 16 or a smaller model",
            ) from error
        raise
