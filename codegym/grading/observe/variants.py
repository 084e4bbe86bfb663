"""Chooses, from runs of siblings, which are fit and which of them tell unsolved code. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codegym.grading.observe.agreement import EXACT, same_result, sibling_agrees
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.comparing import holds
from codegym.grading.observe.guessing import bits
from codegym.grading.observe.recording import Pair, TestRecord
from codegym.grading.observe.sites import Sibling, Site, renamed
from codegym.grading.observe.values import known, order
from codegym.types import Value

Sites = Mapping[int, Site]
#: Of a function's siblings, so many are kept; more of them where their values are easily guessed.
KEPT_SIBLINGS, MOST_SIBLINGS, ENOUGH_BITS = 3, 6, 32.0
#: Of a function's variants in a pool, so many are kept; a case of its parameters is asked in so
#: many of them at most, where there are many cases.
_MOST_VARIANTS, _MOST_ASKING = 24, 4
#: What another text on a line is worth to ``spread`` where no answer changes, and what ends it.
_TOUCHED, _WORTHLESS = 0.25, 0.01
_NONE = Value("none")


@dataclass(frozen=True, slots=True)
class Variant:
    """A sibling with what its tests see, one for each of its original's parameters.

    Attributes:
        sibling: It.
        tests: They, of those parameters that it is fit for and differs with.
        familiar: Where unsolved code fails, the answers are those of the original, to other inputs:
            it holds up a table of the shown inputs, and no more. Or they are those of other cases,
            whose inputs it may have, and a table as well.
    """

    sibling: Sibling
    tests: tuple[TestRecord, ...]
    familiar: bool = False

    def holding(self, sites: Sites, run: Sight) -> Variant | None:
        """With those of its tests of which a run saw the same; None where there are none."""
        tests = tuple(
            test
            for test in self.tests
            if test.key in run.passed
            and sibling_agrees(test.pairs, run.pairs(test.key, sites), sites)
        )
        return replace(self, tests=tests) if tests else None


def sibling_key(sibling: Sibling, key: str) -> str:
    """The key of a sibling in the class, and for the parameters, of its original."""
    function, brace, parameters = key.partition("{")
    return f"{renamed(function, sibling.name)}{brace}{parameters}"


def fit(
    sibling: Sibling, originals: Sequence[TestRecord], sites: Sites, solved: Sight
) -> Variant | None:
    """What a sibling sees on the solved tree, for parameters that it does not fail with.

    Nor may it be asked for other things there than its original; None where nothing is left.

    Args:
        sibling: It.
        originals: What the function saw, for each of its parameters.
        sites: All that are observed.
        solved: A run of it on the solved tree.
    """
    tests = []
    for original in originals:
        key = sibling_key(sibling, original.key)
        test = TestRecord(key, solved.pairs(key, sites), original.seconds)
        if key in solved.passed and _alike(original, test, sites):
            tests.append(replace(test, pairs=_meant(original, test, sites)))
    return Variant(sibling, tuple(tests)) if tests else None


def _meant(original: TestRecord, sibling: TestRecord, sites: Sites) -> tuple[Pair, ...]:
    """What a sibling sees, and which exceptions will do: those that will do in its original."""
    return tuple(
        replace(mine, expected=other.expected)
        if sites[mine.site].form == "raises" and mine.expected is None
        else mine
        for mine, other in zip(sibling.pairs, original.pairs, strict=True)
    )


def spread(
    variants: Sequence[Variant],
    originals: Sequence[TestRecord],
    sites: Sites,
    starts: Sequence[int],
) -> tuple[Variant, ...]:
    """A few that differ from the original in as many answers as can be, and from one another.

    One whose answers are all those of the original is trivial: it is left out.

    Args:
        variants: Of one function.
        originals: What it saw, for each of its parameters.
        sites: Those observed in its file.
        starts: Where lines of the file begin.
    """
    gains = {}
    for variant in variants:
        places = dict(_answers(variant, originals, sites))
        if places:
            lines = {bisect_right(starts, start) for start, _, _ in variant.sibling.edits}
            gains[variant] = places, lines
    chosen: list[Variant] = []
    asked: Counter[object] = Counter()
    most = max(_MOST_ASKING, _MOST_VARIANTS // len(originals))
    room = Counter({test.key.partition("{")[2]: most for test in originals})

    def gain(variant: Variant) -> float:
        places, lines = gains[variant]
        new = sum(
            0.5 ** asked[place] + 0.5 * (not asked[place, value]) for place, value in places.items()
        )
        return new + sum(_TOUCHED * 0.5 ** asked[line] for line in lines)

    while gains and len(chosen) < _MOST_VARIANTS:
        best = max(gains, key=gain)
        if gain(best) < _WORTHLESS:
            break
        places, lines = gains.pop(best)
        asked.update([*places, *places.items(), *lines])
        parameters = [test.key.partition("{")[2] for test in best.tests]
        tests = [t for t, name in zip(best.tests, parameters, strict=True) if room[name] > 0]
        room.subtract(parameters)
        if tests:
            chosen.append(replace(best, tests=tuple(tests)))
    return tuple(chosen)


def _answers(
    variant: Variant, originals: Sequence[TestRecord], sites: Sites
) -> Iterator[tuple[tuple[str, int], Value]]:
    """Where it is answered otherwise than its original, and what."""
    for test, original in _beside(variant, originals):
        for place, (mine, other) in enumerate(zip(test.pairs, original.pairs, strict=True)):
            if not same_result(sites[mine.site], other.actual, mine.actual):
                yield (original.key, place), mine.actual


def _beside(
    variant: Variant, originals: Iterable[TestRecord]
) -> Iterator[tuple[TestRecord, TestRecord]]:
    """Its tests, each with that of the original that has the same parameters."""
    known = {original.key.partition("{")[2]: original for original in originals}
    return ((test, known[test.key.partition("{")[2]]) for test in variant.tests)


def telling(
    variants: Sequence[Variant],
    originals: Sequence[TestRecord],
    sites: Sites,
    start: Sight,
    asserted: Collection[str],
    starts: Sequence[int],
) -> tuple[Variant, ...]:
    """A few that unsolved code fails where it is asked anything new; the hardest to guess first.

    Where there are none, a few that it fails where its input is new, and the answer is not.

    Args:
        variants: Of one function, fit.
        originals: What it saw, for each of its parameters.
        sites: Those observed in its file.
        start: A run of them on the unsolved tree: a test that passes there holds nobody up, and is
            left out.
        asserted: Keys of those in which something was asserted in the process, and did not hold.
        starts: Where lines of the file begin.
    """
    seen = {pair.actual for test in originals for pair in test.pairs}
    told = (_told(one, originals, sites, start, asserted) for one in variants)
    left = [one for one in told if one is not None]
    shown = frozenset(seen)
    kept: list[Variant] = []
    total = 0.0
    while left and len(kept) < (KEPT_SIBLINGS if total >= ENOUGH_BITS else MOST_SIBLINGS):
        gains = [sum(bits(value, seen) for value in _values(one) - seen) for one in left]
        best = left[gains.index(max(gains))]
        total += max(gains)
        seen |= _values(best)
        kept.append(replace(best, familiar=bool(_values(best)) and _values(best) <= shown))
        left = [one for one in left if _pairs(one) != _pairs(best)]
    if not kept:
        known = [_familiar(one, originals, sites, start, asserted, starts) for one in variants]
        kept = [one for one in known if one is not None][:KEPT_SIBLINGS]
    return tuple(kept)


def _familiar(
    variant: Variant,
    originals: Sequence[TestRecord],
    sites: Sites,
    start: Sight,
    asserted: Collection[str],
    starts: Sequence[int],
) -> Variant | None:
    """With the tests that unsolved code fails in lines with other inputs."""
    lines = {bisect_right(starts, begin) for begin, _, _ in variant.sibling.edits}
    tests = []
    for test, original in _beside(variant, originals):
        answers = _answered(test, sites, start, asserted)
        lined = [sites[pair.site].line for pair in original.pairs]
        spots = [_around(lined, place) for place, right in enumerate(answers) if not right]
        if not spots and test.key not in start.passed:  # by what is not observed, wherever it is
            spots = [(0, math.inf)]
        if any(first <= line < last for line in lines for first, last in spots):
            tests.append(test)
    return Variant(variant.sibling, tuple(tests), familiar=True) if tests else None


def failing_lines(
    sibling: TestRecord, original: TestRecord, sites: Sites, start: Sight
) -> Iterator[tuple[int, float]]:
    """Of each assertion that unsolved code fails, the lines from the one before to the next.

    The last is where it comes to its end, if it does not pass: what follows is not known. So a run
    is meant that ends where a test fails.
    """
    given = start.pairs(sibling.key, sites)
    lines = [sites[pair.site].line for pair in original.pairs]
    for place, mine in enumerate(sibling.pairs):
        reached = place < len(given) and given[place].site == mine.site
        if not reached or not same_result(sites[mine.site], given[place].actual, mine.actual):
            yield _around(lines, place)
        if not reached:
            return
    if sibling.key not in start.passed:
        yield _around(lines, len(lines))


def _around(lines: Sequence[int], place: int) -> tuple[int, float]:
    here = lines[place] if place < len(lines) else math.inf
    before = lines[place - 1] if place else 0
    return before + (before < here), min((one for one in lines if one > here), default=math.inf)


def _told(
    variant: Variant,
    originals: Sequence[TestRecord],
    sites: Sites,
    start: Sight,
    asserted: Collection[str],
) -> Variant | None:
    tests = [
        replace(test, lacking=_lacking(told, sites))
        for test, original in _beside(variant, originals)
        if (told := _telling(original, test, sites, _answered(test, sites, start, asserted)))
    ]
    return Variant(variant.sibling, tuple(tests)) if tests else None


def _telling(
    original: TestRecord, sibling: TestRecord, sites: Sites, answers: Sequence[bool]
) -> list[Pair]:
    """What unsolved code does not answer like that, and the original not either."""
    return [
        mine
        for mine, other, right in zip(sibling.pairs, original.pairs, answers, strict=True)
        if not right and not same_result(sites[mine.site], other.actual, mine.actual)
    ]


def _answered(
    sibling: TestRecord, sites: Sites, start: Sight, asserted: Collection[str]
) -> list[bool]:
    """Of each thing that a sibling sees when solved, whether unsolved code gives it, or may."""
    given = beside(sibling.pairs, start.pairs(sibling.key, sites))
    past = sibling.key in asserted
    return [
        past
        if other is None
        else same_result(sites[mine.site], other.actual, mine.actual, mine.expected)
        for mine, other in zip(sibling.pairs, given, strict=True)
    ]


def beside(solved: Sequence[Pair], given: Sequence[Pair]) -> list[Pair | None]:
    """What unsolved code gives in the place of each; None where it does not come to it.

    In order: where something fails it goes on with what comes next, so some are left out.
    """
    places: dict[int, list[int]] = {}
    for place, pair in enumerate(given):
        places.setdefault(pair.site, []).append(place)
    found: list[Pair | None] = []
    at = 0
    for pair in solved:
        mine = places.get(pair.site, [])
        index = bisect_left(mine, at)
        found.append(given[mine[index]] if index < len(mine) else None)
        at = mine[index] + 1 if index < len(mine) else at
    return found


def unseen(test: TestRecord, given: Sequence[Pair], sites: Sites, *, past: bool) -> bool:
    """Whether unsolved code gives all that is observed in a test: it fails by something else.

    Args:
        test: What it saw when solved.
        given: What a copy of it gives on the unsolved tree, that goes on whatever fails.
        sites: Those observed in it.
        past: Whether something was asserted in the process, and did not hold: then unsolved code
            may give what it did not come to.
    """
    return all(
        past if other is None else _gives(sites[mine.site], mine, other)
        for mine, other in zip(test.pairs, beside(test.pairs, given), strict=True)
    )


def _gives(site: Site, solved: Pair, given: Pair) -> bool:
    """Whether an assertion would hold; of two sides from code under test, on what gold has."""
    if site.sides == "one":
        return holds(site.op, site.options, given.actual, solved.expected or _NONE, solved.actual)
    return given.actual == solved.actual or (
        site.op in EXACT and same_result(site, given.actual, solved.actual)
    )


def _lacking(found: Iterable[Pair], sites: Sites) -> tuple[Value, ...]:
    values = {pair.actual for pair in found if sites[pair.site].op in EXACT}
    return tuple(sorted(values, key=order))


def _values(variant: Variant) -> set[Value]:
    return {value for test in variant.tests for value in test.lacking}


def _pairs(variant: Variant) -> tuple[tuple[Pair, ...], ...]:
    return tuple(test.pairs for test in variant.tests)


def _alike(original: TestRecord, sibling: TestRecord, sites: Sites) -> bool:
    """Whether a sibling asks for the same kind of thing: else its inputs may be out of bounds."""
    mine, theirs = original.pairs, sibling.pairs
    return len(mine) == len(theirs) and all(
        one.site == other.site
        and (
            not (sites[one.site].op in EXACT or sites[one.site].form == "raises")
            or (_kind(one.actual) == _kind(other.actual) and known(other.actual))
        )
        for one, other in zip(mine, theirs, strict=True)
    )


def _kind(value: Value) -> tuple[str, str]:
    return "number" if value.kind in ("int", "float") else value.kind, value.name
