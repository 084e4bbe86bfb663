"""Losses: pure functions of tensors, each tested against a slow and obvious reference.

Vectors have an entry for each token that the policy wrote, all sequences one after the other, shape
(N,): tokens of the environment are not among them, so nothing can be learned from those. Natural
logarithms throughout. A loss is minimised.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

#: Bound on a log-ratio before it is exponentiated.
_MAX_LOG_RATIO = 20.0
_NEARLY_ALL = -1e-7


def centred(rewards: Sequence[float]) -> list[float] | None:
    """Advantages of a group's episodes: reward minus the group's mean.

    Not divided by the standard deviation, which would favour tasks that are nearly always or nearly
    never solved (Dr. GRPO, arXiv 2503.20783).

    Returns:
        One for each, or None where all have the same reward and so say nothing (dynamic sampling in
        DAPO, arXiv 2503.14476).
    """
    if not rewards or max(rewards) - min(rewards) < 1e-9:
        return None
    mean = sum(rewards) / len(rewards)
    return [reward - mean for reward in rewards]


def clipped(
    logp: Tensor, proximal: Tensor, advantages: Tensor, *, low: float = 0.2, high: float = 0.28
) -> Tensor:
    """The clipped surrogate, with more room upwards (PPO 1707.06347, DAPO 2503.14476).

    Args:
        logp: Log-probabilities of the tokens now, with gradient; (N,).
        proximal: Under the weights that this update began with; (N,).
        advantages: (N,).
        low: The ratio is clipped at ``1 - low``.
        high: And at ``1 + high``.
    """
    ratio = _ratio(logp, proximal.detach())
    return -torch.minimum(ratio * advantages, ratio.clamp(1 - low, 1 + high) * advantages)


def cispo(logp: Tensor, proximal: Tensor, advantages: Tensor, *, cap: float = 5.0) -> Tensor:
    """REINFORCE, weighted by the ratio, which is capped and has no gradient (CISPO, 2506.13585).

    Unlike clipping it drops no token's gradient. Arguments as for ``clipped``; the cap as in
    ScaleRL (2510.13786).
    """
    weight = _ratio(logp.detach(), proximal.detach()).clamp(max=cap)
    return -weight * advantages * logp


def correction(
    proximal: Tensor, sampler: Tensor, *, cap: float, sequence: Tensor | None = None
) -> Tensor:
    """Truncated importance weights: for engines that are stale, or compute otherwise than we do.

    Args:
        proximal: Under the trainer's weights; (N,).
        sampler: As the sampler recorded them; (N,).
        cap: Upper bound of a weight; truncated rather than masked (IMPALA 1802.01561).
        sequence: The number of each token's sequence, (N,): one weight for each sequence, from the
            product over its tokens. None: a weight for each token.

    Returns:
        Weights in (0, cap], without gradient; (N,).
    """
    log_ratio = (proximal - sampler).detach()
    if sequence is not None and len(sequence):
        sums = log_ratio.new_zeros(int(sequence.max()) + 1)
        log_ratio = sums.index_add(0, sequence, log_ratio)[sequence]
    return log_ratio.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp().clamp(max=cap)


def reference_kl(logp: Tensor, reference: Tensor) -> Tensor:
    """A penalty on leaving a reference policy, of each token.

    Half the square of the log-ratio: of the usual estimators, the one whose *gradient* is that of
    the reverse KL on the policy's own samples (2506.09477).
    """
    return 0.5 * (logp - reference.detach()) ** 2


def token_mean(losses: Tensor, denominator: float) -> Tensor:
    """The sum over tokens, by a number that no sequence's length changes: all tokens count alike.

    Args:
        losses: (N,); the tokens of one micro-batch.
        denominator: Tokens of the whole batch (DAPO), or a constant (Dr. GRPO); above 0.
    """
    return losses.sum() / denominator


def with_tail(logits: Tensor, ids: Tensor) -> Tensor:
    """Log-probabilities of some tokens, and of all others together.

    Args:
        logits: (N, vocabulary).
        ids: (N, K), no id twice in a row.

    Returns:
        (N, K + 1), normalised; the tail is last (SDPO, 2601.20802).
    """
    top = logits.gather(-1, ids) - logits.logsumexp(-1, keepdim=True)
    inside = top.logsumexp(-1, keepdim=True).clamp(max=_NEARLY_ALL)
    return torch.cat([top, torch.log(-torch.expm1(inside))], -1)


def divergence(student: Tensor, teacher: Tensor, *, alpha: float) -> Tensor:
    """How far the student is from the teacher, of each token (SDPO 2601.20802, GKD 2306.13649).

    Args:
        student: Log-probabilities, with gradient; (N, K).
        teacher: Likewise; its gradient is stopped.
        alpha: 0: KL(teacher‖student), forward. 1: KL(student‖teacher), reverse. Between: the
            Jensen-Shannon divergence about the mixture with ``alpha`` of the teacher.

    Returns:
        (N,), >= 0 but for rounding.
    """
    teacher = teacher.detach()
    if alpha == 0.0:
        return _kl(teacher, student)
    if alpha == 1.0:
        return _kl(student, teacher)
    weights = torch.tensor([1 - alpha, alpha], dtype=student.dtype, device=student.device).log()
    mixture = torch.logaddexp(student + weights[0], teacher + weights[1])
    return (1 - alpha) * _kl(student, mixture) + alpha * _kl(teacher, mixture)


def gate(student: Tensor, teacher: Tensor, *, sharpness: float) -> Tensor:
    """How much a token is distilled, by what both give the sampled one (SDAR 2605.15155).

    Args:
        student: Log-probabilities of the sampled tokens; (N,).
        teacher: Likewise.
        sharpness: 0: all alike, 1/2. Above: those most that the teacher endorses. Below: those
            most that it advises against.

    Returns:
        Weights in (0, 1), without gradient; (N,).
    """
    return torch.sigmoid(sharpness * (teacher - student).detach())


def _ratio(logp: Tensor, proximal: Tensor) -> Tensor:
    return (logp - proximal).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def _kl(of: Tensor, to: Tensor) -> Tensor:
    return (of.exp() * (of - to)).sum(-1)
