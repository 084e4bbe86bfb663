"""Whether what one test saw agrees with what it saw on the solved tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from codegym.grading.observe.comparing import holds
from codegym.grading.observe.recording import Pair
from codegym.grading.observe.sites import Site
from codegym.types import Value

#: Ops that accept one value only, so that passing means to know it.
EXACT = frozenset({"==", "is", "almost", "count_equal"})
_NONE = Value("none")
#: Ops whose expected side is looked for in the actual one.
_SEARCHING = frozenset({"regex", "not regex", "raises"})


@dataclass(frozen=True, slots=True)
class Agreement:
    """How what was seen compares.

    Attributes:
        holds: Whether every assertion does.
        site: The first that does not, or None where it was not passed as it should have been.
        value: What was seen there.
        differs: Whether both sides of some assertion agree with each other, and not with what they
            were on the solved tree.
    """

    holds: bool
    site: Site | None = None
    value: Value | None = None
    differs: bool = False


def agree(gold: Sequence[Pair], seen: Sequence[Pair], sites: Mapping[int, Site]) -> Agreement:
    """Hold a test's sights against the recording, occurrence by occurrence.

    Args:
        gold: What it saw on the solved tree.
        seen: What it saw; untrusted.
        sites: What each site is.
    """
    for mine, theirs in zip_longest(_of(gold, sites, "one"), _of(seen, sites, "one")):
        if mine is None or theirs is None or mine.site != theirs.site:
            return Agreement(False, sites[mine.site] if mine else None)
        if not _satisfied(sites[mine.site], theirs.actual, mine.expected, mine.actual):
            return Agreement(False, sites[mine.site], theirs.actual)
    return _pairs_hold(_of(gold, sites, "both"), _of(seen, sites, "both"), sites)


def _pairs_hold(gold: Sequence[Pair], seen: Sequence[Pair], sites: Mapping[int, Site]) -> Agreement:
    """Both sides come from code under test: they are held against each other, and against gold."""
    differs = len(gold) != len(seen)
    for mine, theirs in zip_longest(gold, seen):
        if theirs is None:
            break
        site = sites[theirs.site]
        same = mine is not None and mine.site == theirs.site
        known = mine.actual if mine is not None and same else _NONE
        if theirs.expected is None and site.form != "truth":
            return Agreement(False, site)
        if site.op in _SEARCHING and not (same and mine and mine.expected == theirs.expected):
            differs = True  # a pattern of the sandbox's own is never searched for here
            continue
        if not _satisfied(site, theirs.actual, theirs.expected, known):
            return Agreement(False, site, theirs.actual)
        differs = differs or not same or theirs.actual != known
    return Agreement(True, differs=differs)


def _of(found: Sequence[Pair], sites: Mapping[int, Site], sides: str) -> list[Pair]:
    return [pair for pair in found if sites[pair.site].sides == sides]


def _satisfied(site: Site, actual: Value, expected: Value | None, gold_actual: Value) -> bool:
    return holds(site.op, site.options, actual, expected or _NONE, gold_actual)


def steady(site: Site, runs: Sequence[Sequence[Pair]]) -> bool:
    """Whether a site can be observed: on the solved tree it holds, and means the same, every time.

    Args:
        site: The site.
        runs: What it saw and meant in one test, in each run.
    """
    if len({len(run) for run in runs}) != 1:
        return False
    for times in zip(*runs, strict=True):
        if site.form != "truth" and any(pair.expected is None for pair in times):
            return False
        # What comes from code under test and is another each time tells nothing of a difference.
        constant = {pair.expected if site.sides == "one" else pair.actual for pair in times}
        if len(constant) != 1:
            return False
        if not all(_satisfied(site, one.actual, one.expected, one.actual) for one in times):
            return False
    return True


def same_result(site: Site, actual: Value, gold: Value, meant: Value | None = None) -> bool:
    """Whether a sibling's value is that of the solved tree, as far as its assertion asks.

    What an assertion leaves open, another right solution may do otherwise: which true value, the
    text of an exception, which value of many, a float's last digits.

    Args:
        site: The assertion.
        actual: The value.
        gold: That of the solved tree.
        meant: What has to be raised, where that is known: any of these classes will do.
    """
    if site.form == "raises":
        if meant is not None and meant.kind == "tuple" and len(meant.parts) == 2:
            return holds("raises", (), actual, replace(meant, parts=(meant.parts[0], _NONE)), gold)
        return (actual.kind, actual.name) == (gold.kind, gold.name)
    if site.form == "truth":
        return holds("true", (), actual, _NONE, gold) == holds("true", (), gold, _NONE, gold)
    if site.op in EXACT:
        return holds(site.op, site.options, actual, _loosened(gold), gold)
    return True


def _loosened(value: Value) -> Value:
    """The value with floats held to as ``pytest.approx`` does: sums have no order of their own."""
    if value.kind == "float":
        return Value("approx", parts=(_NONE, _NONE, Value("bool", leaf=False), value))
    if value.kind in ("list", "tuple"):
        return replace(value, parts=tuple(map(_loosened, value.parts)))
    if value.kind == "dict":
        parts = (_loosened(one) if n % 2 else one for n, one in enumerate(value.parts))
        return replace(value, parts=tuple(parts))
    return value


def sibling_agrees(gold: Sequence[Pair], seen: Sequence[Pair], sites: Mapping[int, Site]) -> bool:
    """Whether a sibling saw what it saw on the solved tree, occurrence by occurrence."""
    return len(gold) == len(seen) and all(
        mine.site == theirs.site
        and same_result(sites[mine.site], theirs.actual, mine.actual, mine.expected)
        for mine, theirs in zip(gold, seen, strict=True)
    )
