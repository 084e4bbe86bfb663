"""What a run came to. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import median

from codegym.runs.records import EpisodeRecord
from codegym.types import Grade, Manifest

Z95 = 1.959963984540054


def wilson(solved: float, graded: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a rate: sound for few episodes and at 0 and 1.

    Args:
        solved: 0 to ``graded``; not a whole number where each is a share of its own.
        graded: How many there are.

    Returns:
        Lower and upper bound, each in [0, 1]; (0, 1) where nothing was graded.
    """
    if graded == 0:
        return 0.0, 1.0
    rate, z2 = solved / graded, Z95**2
    middle = rate + z2 / (2 * graded)
    spread = Z95 * sqrt(rate * (1 - rate) / graded + z2 / (4 * graded**2))
    scale = 1 + z2 / graded
    low, high = (middle - spread) / scale, (middle + spread) / scale
    # At the ends the bound is exact; rounding must not put the rate outside its own interval.
    return (0.0 if solved == 0 else max(0.0, low)), (1.0 if solved == graded else min(1.0, high))


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a run. Faulted episodes are no evidence: only ``faults`` counts them.

    Attributes:
        episodes: Finished episodes, faulted ones among them.
        graded: Those with a grade.
        solved: Those with a score of 1.0.
        tampered: Those whose grade found tampering.
        sandbox_faults: Episodes without a grade because infrastructure broke.
        task_faults: Episodes without a grade because their task is broken.
        policy_faults: Episodes without a grade because what the policy depends on failed.
        solve_rate: ``solved / graded``; None where nothing was graded.
        ci95: 95 % Wilson interval of it.
        reward: Mean reward of graded episodes, or None.
        steps: Actions taken, in all graded episodes.
        tokens: Tokens sampled, likewise.
        prompt_tokens: Tokens read by the policy, likewise.
        episode_sec: Median wall time of a graded episode.
        reset_ms: Median wall time of a reset, milliseconds.
        broken: Why each broken task is, by id.
        reasons: What else failed, and how often: messages of faults of a sandbox or a policy.
    """

    episodes: int
    graded: int
    solved: int
    tampered: int
    sandbox_faults: int
    task_faults: int
    solve_rate: float | None
    ci95: tuple[float, float]
    reward: float | None
    steps: int
    tokens: int
    episode_sec: float
    reset_ms: float
    policy_faults: int = 0
    prompt_tokens: int = 0
    broken: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> int:
        """Episodes that ended without a grade through no doing of the policy's own."""
        return self.sandbox_faults + self.task_faults + self.policy_faults


def summarize(records: Iterable[EpisodeRecord]) -> Summary:
    """Sum up a run's episodes; of two records of one index the later counts."""
    final = list({record.index: _light(record) for record in records}.values())
    graded = [record for record in final if record.grade is not None and not record.fault]
    solved = sum(1 for record in graded if record.grade and record.grade.solved)
    return Summary(
        episodes=len(final),
        graded=len(graded),
        solved=solved,
        tampered=sum(1 for record in graded if record.grade and record.grade.tampering),
        sandbox_faults=sum(1 for record in final if record.fault == "sandbox"),
        task_faults=sum(1 for record in final if record.fault == "task"),
        solve_rate=solved / len(graded) if graded else None,
        ci95=wilson(solved, len(graded)),
        reward=sum(record.reward for record in graded) / len(graded) if graded else None,
        steps=sum(record.steps for record in graded),
        tokens=sum(record.tokens for record in graded),
        episode_sec=median([record.seconds for record in graded]) if graded else 0.0,
        reset_ms=1000 * median([record.reset_sec for record in graded]) if graded else 0.0,
        policy_faults=sum(1 for record in final if record.fault == "policy"),
        prompt_tokens=sum(record.prompt_tokens for record in graded),
        broken={record.task_id: record.error for record in final if record.fault == "task"},
        reasons=dict(Counter(r.error for r in final if r.fault in ("sandbox", "policy"))),
    )


def _light(record: EpisodeRecord) -> EpisodeRecord:
    """Without the parts that are large, so that a long run can be summed up in little memory."""
    grade = record.grade and Grade(score=record.grade.score, tampering=record.grade.tampering)
    return replace(record, grade=grade, diff="", work=Manifest())
