"""What runs came to, side by side. Pure, given the runs' records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import median

from codegym.evaluation.comparing import Comparison, compare, holm
from codegym.evaluation.rates import interval, pass_at_k, solve_rate
from codegym.runs import Pins, Run
from codegym.types import ASSURANCES, Assurance, Fault

#: Policies that know nothing of what they repair; their rates are what any rate is held against.
BASELINES = ("random_edit", "unigram")

#: What two runs must have in common to be compared, and what of it may differ all the same.
_SAME = ("tasks_digest", "kind", "seed", "options.")
_FREE = frozenset({"options.sandbox"})


@dataclass(frozen=True, slots=True)
class Played:
    """One episode, as far as a report looks at it.

    Attributes:
        sample: Its number among those of its task, from 0.
        solved: Whether it solved its task; None where it has no grade.
        tokens: Tokens sampled.
        prompt_tokens: Tokens read, as an endpoint counted them.
        seconds: Wall time.
    """

    task_id: str
    sample: int
    seed: int
    solved: bool | None
    fault: Fault
    assurance: Assurance
    tampered: bool
    hard_codable: bool
    steps: int
    tokens: int
    prompt_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PolicyRun:
    """One policy's run: what it was pinned to, its episodes, and how many it is to have.

    ``planned`` is 0 where that is not known.
    """

    name: str
    pins: Pins
    episodes: tuple[Played, ...]
    planned: int = 0


@dataclass(frozen=True, slots=True)
class Rate:
    """A solve rate over some episodes; None where there are none."""

    tasks: int
    graded: int
    solved: int
    solve_rate: float | None
    ci95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """What one policy came to.

    Attributes:
        tasks: Tasks with a graded episode.
        episodes: Episodes that have ended.
        planned: Episodes that are to be played; 0 where that is not known.
        solve_rate: Mean over tasks of the share of graded episodes that solved.
        ci95: Its 95 % interval: Wilson's, or with several samples the bootstrap over tasks.
        pass_at: ``k`` to the chance that one of ``k`` samples solves.
        faults: Episodes without a grade, by whose fault it was; no evidence either way.
        worst: The rate over all episodes, were each faulty one a failure.
        best: The same, were each a success.
        assurance: The rate apart by how hard the grades are to forge.
        hard_codable: Solved episodes whose task a table of its tests' inputs may pass.
        tampered: Graded episodes that tampered with something.
        steps: Mean actions of a graded episode.
        tokens: Mean tokens sampled.
        prompt_tokens: Mean tokens read.
        episode_sec: Median wall time of a graded episode, seconds.
        baselines: Rates of policies that know nothing, by name, where they played the same tasks.
        paired: This policy against each other of the same tasks and seeds.
        p_holm: p-value of each comparison, corrected for all of the report's (Holm).
        unpaired: Why it is not compared with another, by that one's name.
    """

    version: str
    tasks: int
    episodes: int
    planned: int
    graded: int
    solved: int
    solve_rate: float | None
    ci95: tuple[float, float]
    pass_at: Mapping[int, float]
    faults: Mapping[str, int]
    worst: float | None
    best: float | None
    assurance: Mapping[Assurance, Rate]
    hard_codable: int
    tampered: int
    steps: float
    tokens: float
    prompt_tokens: float
    episode_sec: float
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    paired: Mapping[str, Comparison] = field(default_factory=dict)
    p_holm: Mapping[str, float] = field(default_factory=dict)
    unpaired: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """All policies, by name, in the order given."""

    policies: Mapping[str, PolicyReport]


def read_run(name: str, run: Run) -> PolicyRun:
    """A run's episodes, without what is large. Raises ``DataError`` where a file is broken."""
    played = []
    for record in run.episodes():
        grade = None if record.fault else record.grade
        played.append(
            Played(
                task_id=record.task_id,
                sample=record.index % run.pins.samples,
                seed=record.seed,
                solved=grade.solved if grade else None,
                fault=record.fault,
                assurance=grade.assurance if grade else ASSURANCES[0],
                tampered=bool(grade and grade.tampering),
                hard_codable=bool(grade and grade.hard_codable),
                steps=record.steps,
                tokens=record.tokens,
                prompt_tokens=record.prompt_tokens,
                seconds=record.seconds,
            )
        )
    return PolicyRun(name, run.pins, tuple(played))


def report_on(runs: Sequence[PolicyRun], seed: int = 0) -> Report:
    """Sum up each run and compare each two. ``seed`` draws what is drawn of intervals and tests."""
    alone = {run.name: _alone(run, seed) for run in runs}
    compared: list[tuple[str, str, Comparison]] = []
    unpaired: dict[str, dict[str, str]] = {run.name: {} for run in runs}
    for one, other in combinations(runs, 2):
        reason = _incomparable(one.pins, other.pins)
        pairs = {} if reason else pairs_of(one, other)
        if pairs:
            compared.append((one.name, other.name, compare(pairs, seed)))
        else:
            why = reason or "no task was graded for both with the same seed"
            unpaired[one.name][other.name] = unpaired[other.name][one.name] = why
    corrected = holm([each.p for _, _, each in compared])
    paired = _both_ways(zip(compared, corrected, strict=True))
    known_nothing = [name for name in alone if name.partition(":")[0] in BASELINES]
    return Report(
        {
            name: replace(
                each,
                baselines={
                    one.partition(":")[0]: alone[one].solve_rate
                    for one in known_nothing
                    if one not in unpaired[name]
                },
                paired={to: comparison for to, (comparison, _) in paired.get(name, {}).items()},
                p_holm={to: p for to, (_, p) in paired.get(name, {}).items()},
                unpaired=unpaired[name],
            )
            for name, each in alone.items()
        }
    )


def _alone(run: PolicyRun, seed: int) -> PolicyReport:
    graded = [each for each in run.episodes if each.solved is not None]
    rate, outcomes = _rate(graded, seed), _outcomes(graded)
    faults = {"sandbox": 0, "task": 0, "policy": 0}
    for each in run.episodes:
        if each.fault:
            faults[each.fault] += 1
    total, lost = len(run.episodes), sum(faults.values())
    counted = len(graded) or 1
    return PolicyReport(
        version=run.pins.policy_version,
        tasks=rate.tasks,
        episodes=total,
        planned=run.planned,
        graded=rate.graded,
        solved=rate.solved,
        solve_rate=rate.solve_rate,
        ci95=rate.ci95,
        pass_at=pass_at_k(outcomes),
        faults=faults,
        worst=rate.solved / total if total else None,
        best=(rate.solved + lost) / total if total else None,
        assurance={
            level: _rate([each for each in graded if each.assurance == level], seed)
            for level in ASSURANCES
        },
        hard_codable=sum(1 for each in graded if each.solved and each.hard_codable),
        tampered=sum(each.tampered for each in graded),
        steps=sum(each.steps for each in graded) / counted,
        tokens=sum(each.tokens for each in graded) / counted,
        prompt_tokens=sum(each.prompt_tokens for each in graded) / counted,
        episode_sec=median([each.seconds for each in graded]) if graded else 0.0,
    )


def _rate(graded: Sequence[Played], seed: int) -> Rate:
    outcomes = _outcomes(graded)
    solved = sum(sum(each) for each in outcomes.values())
    bounds = interval(outcomes, seed)
    return Rate(len(outcomes), len(graded), solved, solve_rate(outcomes), bounds)


def _outcomes(graded: Iterable[Played]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for each in graded:
        found.setdefault(each.task_id, []).append(bool(each.solved))
    return found


def _incomparable(one: Pins, other: Pins) -> str:
    """What makes two runs no experiment with one difference; ``""`` where nothing does."""
    for name, mine, theirs in one.differences(other):
        if name.startswith(_SAME) and name not in _FREE:
            return f"{name} was {mine[:40]!r} and {theirs[:40]!r}"
    return ""


def pairs_of(one: PolicyRun, other: PolicyRun) -> dict[str, list[tuple[bool, bool]]]:
    """By task, whether each solved it in the episodes of one seed that both have."""
    theirs = {(each.task_id, each.seed): each.solved for each in other.episodes}
    found: dict[str, list[tuple[bool, bool]]] = {}
    for each in one.episodes:
        result = theirs.get((each.task_id, each.seed))
        if each.solved is not None and result is not None:
            found.setdefault(each.task_id, []).append((each.solved, result))
    return found


def _both_ways(
    compared: Iterable[tuple[tuple[str, str, Comparison], float]],
) -> dict[str, dict[str, tuple[Comparison, float]]]:
    found: dict[str, dict[str, tuple[Comparison, float]]] = {}
    for (one, other, comparison), p in compared:
        found.setdefault(one, {})[other] = comparison, p
        found.setdefault(other, {})[one] = comparison.reversed(), p
    return found
