"""What reinforcement learning minimises: the losses of a micro-batch, put together."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from codegym.training import losses
from codegym.training.batching import Batch
from codegym.training.experience import Experience
from codegym.training.feedback import Feedback, Student, Teacher, distil
from codegym.training.learner import Learner, Taken
from codegym.training.ranges import ABOVE_0, FROM_0, FROM_1, SHARE, check
from codegym.training.scoring import hidden_states, logprobs


@dataclass(frozen=True, slots=True)
class Objective:
    """The options of the policy gradient.

    Attributes:
        loss: ``"clip"`` (with more room upwards) or ``"cispo"``.
        clip_low: The ratio is clipped at 1 - this, in [0, 1].
        clip_high: And at 1 + this, >= 0.
        cispo_cap: Bound on CISPO's weights, above 0.
        correction: Weights against a sampler that computes otherwise, or is stale: of each
            ``"token"``, of each ``"sequence"``, or ``"off"``.
        correction_cap: Their bound, above 0.
        denominator: Tokens that the sum is divided by; 0: those of the step.
        kl: Weight of a penalty on leaving the policy that training began with, >= 0.
        updates: Optimiser steps for each batch of episodes, >= 1.
    """

    loss: Literal["clip", "cispo"] = "clip"
    clip_low: float = 0.2
    clip_high: float = 0.28
    cispo_cap: float = 5.0
    correction: Literal["token", "sequence", "off"] = "token"
    correction_cap: float = 2.0
    denominator: float = 0.0
    kl: float = 0.0
    updates: int = 1

    def __post_init__(self) -> None:
        """Raise ``UsageError`` where one is out of its range."""
        check(self, clip_low=SHARE, clip_high=FROM_0, cispo_cap=ABOVE_0, correction_cap=ABOVE_0)
        check(self, denominator=FROM_0, kl=FROM_0, updates=FROM_1)


class Improver:
    """Takes a step from experience.

    Args:
        learner: What learns, as training began: what is kept for reference is copied now.
        how: The policy gradient.
        feedback: How hints are learned from; None: not at all.
    """

    def __init__(self, learner: Learner, how: Objective, feedback: Feedback | None) -> None:
        self._learner, self._how, self._feedback = learner, how, feedback
        self.teacher = Teacher(learner.model, feedback) if feedback else None
        self._reference: Any = None
        if how.kl:
            frozen = copy.deepcopy(learner.model).eval()
            self._reference = frozen.requires_grad_(requires_grad=False)
        self._sums: dict[str, float] = {}

    def improve(self, experience: Experience) -> dict[str, float]:
        """Take the updates of a step; returns what is worth plotting.

        Raises what ``Learner.update`` does.
        """
        self._sums = {}
        if not experience.sequences:
            return {}
        proximal = self._proximal(experience.sequences) if self._how.updates > 1 else None
        taken = Taken(0.0, 0.0)
        for _ in range(self._how.updates):
            taken = self._learner.update(
                experience.sequences,
                lambda batch, states: self._loss(experience, proximal, batch, states),
            )
            if self.teacher is not None:
                self.teacher.follow()
        count = max(1.0, self._sums.get("count", 1.0))
        return {
            "loss": taken.loss,
            "gradient_norm": taken.norm,
            "sampler_kl": self._sums.get("kl", 0.0) / count,
            "clipped": self._sums.get("clipped", 0.0) / count,
            "feedback_loss": self._sums.get("feedback", 0.0),
        }

    def _loss(
        self,
        experience: Experience,
        proximal: dict[int, Tensor] | None,
        batch: Batch,
        states: Tensor,
    ) -> Tensor:
        how, device = self._how, states.device
        rows = [experience.sequences[member] for member in batch.members]
        sampler = torch.tensor([p for row in rows for p in row.logprobs()], device=device)
        gains = torch.tensor([experience.advantages[m] for m in batch.members], device=device)
        advantages = gains[batch.owner]
        logp = logprobs(self._learner.model, states, batch.targets)
        old = logp.detach()
        if proximal is not None:
            old = torch.cat([proximal[member] for member in batch.members])
        each = self._surrogate(logp, old, advantages)
        if how.correction != "off":
            whole = batch.owner if how.correction == "sequence" else None
            each = each * losses.correction(old, sampler, cap=how.correction_cap, sequence=whole)
        if self._reference is not None:
            with torch.no_grad():
                reference = logprobs(
                    self._reference, hidden_states(self._reference, batch), batch.targets
                )
            each = each + how.kl * losses.reference_kl(logp, reference) * (advantages != 0)
        count = how.denominator or max(1, experience.rewarded_tokens)
        self._note(logp.detach(), old, sampler)
        total = losses.token_mean(each, count)
        return total + self._hinted(experience, Student(batch, states, logp, sampler))

    def _surrogate(self, logp: Tensor, old: Tensor, advantages: Tensor) -> Tensor:
        how = self._how
        if how.loss == "cispo":
            return losses.cispo(logp, old, advantages, cap=how.cispo_cap)
        return losses.clipped(logp, old, advantages, low=how.clip_low, high=how.clip_high)

    def _hinted(self, experience: Experience, student: Student) -> Tensor:
        """The part of the lessons whose sequences are in a micro-batch."""
        total = student.logp.new_zeros(())
        feedback, teacher = self._feedback, self.teacher
        members = student.batch.members
        taught = [(m, lesson) for m in members for lesson in experience.lessons[m]]
        if feedback is None or teacher is None or not taught:
            return total
        for batch in self._learner.batches([lesson.hinted for _, lesson in taught]):
            model = self._learner.model
            total = total + distil(model, teacher, student, taught, batch, feedback)
        total = losses.token_mean(total, experience.hinted_tokens)
        self._sums["feedback"] = self._sums.get("feedback", 0.0) + total.item()
        return feedback.weight * total

    def _proximal(self, sequences: Sequence[Any]) -> dict[int, Tensor]:
        """Log-probabilities before the first of several updates, by sequence."""
        model, found = self._learner.model, {}
        with torch.no_grad():
            for batch in self._learner.batches(sequences):
                logp = logprobs(model, hidden_states(model, batch), batch.targets)
                for own, member in enumerate(batch.members):
                    found[member] = logp[batch.owner == own]
        return found

    def _note(self, logp: Tensor, old: Tensor, sampler: Tensor) -> None:
        how = self._how
        ratio = (logp - old).exp()
        outside = (ratio < 1 - how.clip_low) | (ratio > 1 + how.clip_high)
        new = {"count": len(logp), "kl": (sampler - logp).sum(), "clipped": outside.sum()}
        for name, value in new.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(value)
