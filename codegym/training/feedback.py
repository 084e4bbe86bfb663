"""Textual feedback: the policy with a hint teaches the policy without one, at that turn alone.

The hint stands right before the turn that went wrong. What the policy sampled there is read by
both: by the student as it was, by the teacher after the hint. The student is drawn towards the
teacher's distribution on those tokens, beside the policy gradient of the whole episode (SDPO, arXiv
2601.20802; gates as in SDAR, 2605.15155; OpenClaw-RL, 2603.10165).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from codegym.agents.lm import Renderer
from codegym.errors import UsageError
from codegym.training import losses
from codegym.training.batching import Batch
from codegym.training.hints import Hint
from codegym.training.ranges import ABOVE_0, ABOVE_0_TO_1, FINITE, FROM_0, FROM_1, SHARE, check
from codegym.training.scoring import hidden_states, logits
from codegym.training.sequences import Span, TokenSequence


@dataclass(frozen=True, slots=True)
class Feedback:
    """How hints are learned from.

    Attributes:
        weight: Of this part of the loss, >= 0.
        teacher: ``"self"``: the policy as it is. ``"ema"``: a moving average of it. ``"trust"``:
            between the policy that training began with and the policy, in logits.
        rate: How fast the average follows each step; how far ``"trust"`` goes, in (0, 1].
        top_k: The student's likeliest tokens that are compared, >= 1; all others together are one
            more.
        alpha: The divergence, in [0, 1]: see ``losses.divergence``.
        sharpness: The gate: see ``losses.gate``.
        cap: Bound on the weights that correct for the sampler, above 0.
    """

    weight: float = 1.0
    teacher: Literal["self", "ema", "trust"] = "ema"
    rate: float = 0.05
    top_k: int = 20
    alpha: float = 0.5
    sharpness: float = 0.0
    cap: float = 2.0

    def __post_init__(self) -> None:
        """Raise ``UsageError`` where one is out of its range."""
        check(self, weight=FROM_0, rate=ABOVE_0_TO_1, top_k=FROM_1, alpha=SHARE)
        check(self, sharpness=FINITE, cap=ABOVE_0)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One hinted turn.

    Attributes:
        span: Where the student's tokens are in its sequence.
        hinted: What the teacher reads: the same tokens after the hinted prompt.
        hint: The hint.
    """

    span: Span
    hinted: TokenSequence
    hint: Hint


def lesson(
    sequence: TokenSequence, span: Span, hint: Hint, renderer: Renderer, context_tokens: int
) -> Lesson | None:
    """Put a hint before a turn.

    Returns:
        None where it would not fit into the model's context: a teacher that reads less than the
        student is worse than none.

    Raises:
        UsageError: Something else than the hint was changed.
    """
    prompt, said = sequence.ids[: span.start], sequence.ids[span.start : span.end]
    hinted = renderer.hinted(prompt, hint.text)
    if len(hinted) + len(said) > context_tokens:
        return None
    added = len(hinted) - len(prompt)
    kept = next(
        (n for n, pair in enumerate(zip(prompt, hinted, strict=False)) if pair[0] != pair[1]),
        len(prompt),
    )
    if added <= 0 or prompt[kept:] != hinted[kept + added :]:
        raise UsageError("a hint took something of the prompt away: the teacher would be misled")
    made = TokenSequence(
        ids=(*hinted, *said),
        env_mask=(True,) * len(hinted) + (False,) * len(said),
        sampler_logprobs=(0.0,) * len(hinted) + sequence.sampler_logprobs[span.start : span.end],
        spans=(Span(span.turn, len(hinted), len(hinted) + len(said)),),
    )
    return Lesson(span, made, hint)


class Teacher:
    """Reads hinted sequences. Nothing here has a gradient.

    Args:
        model: The policy's, which is trained.
        how: Which teacher it is.
    """

    def __init__(self, model: Any, how: Feedback) -> None:
        self._model, self._how = model, how
        self._other = None if how.teacher == "self" else _frozen(model)

    def logits(self, batch: Batch) -> Tensor:
        """Logits before each of the batch's tokens that are learned from; (N, vocabulary)."""
        with torch.no_grad():
            if self._other is None:
                return logits(self._model, hidden_states(self._model, batch))
            scores = logits(self._other, hidden_states(self._other, batch))
            if self._how.teacher == "trust":
                now = logits(self._model, hidden_states(self._model, batch))
                scores = torch.lerp(scores, now, self._how.rate)
            return scores

    def follow(self) -> None:
        """Move the average towards the policy, after a step."""
        if self._how.teacher == "ema" and self._other is not None:
            with torch.no_grad():
                pairs = zip(self._other.parameters(), self._model.parameters(), strict=True)
                for mine, now in pairs:
                    mine.lerp_(now, self._how.rate)

    def state(self) -> list[Tensor]:
        """What a checkpoint needs of it: the average."""
        if self._other is None or self._how.teacher != "ema":
            return []
        return [weight.cpu() for weight in self._other.parameters()]

    def restore(self, state: Sequence[Tensor]) -> None:
        """Put back what ``state`` gave."""
        if state and self._other is not None:
            with torch.no_grad():
                for mine, saved in zip(self._other.parameters(), state, strict=True):
                    mine.copy_(saved)


def _frozen(model: Any) -> Any:
    return copy.deepcopy(model).eval().requires_grad_(requires_grad=False)


@dataclass(frozen=True, slots=True)
class Student:
    """What is known of a micro-batch's tokens.

    Attributes:
        batch: The micro-batch.
        states: Its ``hidden_states``, with gradient; (N, width).
        logp: Log-probabilities of its tokens now; (N,).
        sampler: As they were sampled; (N,).
    """

    batch: Batch
    states: Tensor
    logp: Tensor
    sampler: Tensor

    def places(self, member: int, span: Span) -> Tensor:
        """Which of the N tokens are a turn's."""
        batch = self.batch
        place = batch.positions[batch.row, batch.column]
        mine = batch.owner == batch.members.index(member)
        return (mine & (place >= span.start) & (place < span.end)).nonzero()[:, 0]


def distil(
    model: Any,
    teacher: Teacher,
    student: Student,
    taught: Sequence[tuple[int, Lesson]],
    batch: Batch,
    how: Feedback,
) -> Tensor:
    """The loss of some lessons, summed over tokens: to be divided by those of the whole step.

    Args:
        model: The policy's.
        teacher: The teacher.
        student: The micro-batch that holds the lessons' sequences.
        taught: Lessons, each with its sequence's number.
        batch: The lessons' hinted sequences, in an order that its ``members`` say.
        how: The options.

    Raises:
        UsageError: Teacher and student do not read the same tokens.
    """
    places = torch.cat(
        [student.places(taught[member][0], taught[member][1].span) for member in batch.members]
    )
    if not torch.equal(student.batch.targets[places], batch.targets):
        raise UsageError("teacher and student do not read the same tokens; nothing was learned")
    scores, advised = logits(model, student.states[places]), teacher.logits(batch)
    top = scores.detach().topk(min(how.top_k, scores.shape[-1] - 1)).indices
    apart = losses.divergence(
        losses.with_tail(scores, top), losses.with_tail(advised, top), alpha=how.alpha
    )
    said = advised.log_softmax(-1).gather(-1, batch.targets[:, None])[:, 0]
    logp = student.logp[places]
    open_ = losses.gate(logp, said, sharpness=how.sharpness)
    stale = losses.correction(logp, student.sampler[places], cap=how.cap)
    return (stale * open_ * apart).sum()
