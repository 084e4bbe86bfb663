"""Adds to a recording what a task's failing tests need: held-out siblings, or controls.

Siblings are variants of tests, with what they see when solved. They come from pools that all tasks
with one solved tree share; here they run on the unsolved tree, where they have to fail: else
unsolved code with a table of the shown tests would pass them. They go on there whatever fails: what
unsolved code gives after an assertion that stays in its process, it would give once past it. So
does a copy of each failing test itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from codegym.grading.fresh import together
from codegym.grading.observe.aiming import aim
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.controls import SIZES, controls, copies, needs_controls, turns
from codegym.grading.observe.modules import Control
from codegym.grading.observe.pooling import (
    MOST_SEC,
    Variants,
    originals,
    pooled,
    sources_with,
    tried,
)
from codegym.grading.observe.record import Subject
from codegym.grading.observe.recording import Recording, file_of, function_of
from codegym.grading.observe.sites import Sibling
from codegym.grading.observe.variants import (
    MOST_SIBLINGS,
    Variant,
    sibling_key,
    telling,
    unseen,
)
from codegym.grading.suites import Watch

#: More than one of a function are kept while all take no more than this part of the suite's time;
#: so many seconds are next to nothing for any.
_SHARE, _NOTHING_SEC = 0.1, 0.03
_SEED, _SURE = 9, (10, 11)
#: Of a task that nothing is asked anew of, so many functions are tried again.
_FEW = 6
_FAILING_SEC = 60.0
_WENT_ON = "it went on past an assertion"
_ASSERTED = re.compile(r"^E\s+(?:AssertionError|assert\b|Failed\b)", re.MULTILINE)


async def completed(
    solved: Subject, start: Subject, recording: Recording, pool: Variants, functions: Sequence[str]
) -> Recording:
    """The recording with siblings of some functions, and which tests of others can have controls.

    Args:
        solved: What was recorded; of its modules, those of the functions are needed.
        start: The same, run on the unsolved tree.
        recording: Without either.
        pool: Siblings that are fit on the solved tree.
        functions: As ``path::Class::name``.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    fit = {name: pool[name] for name in functions if pool.get(name)}
    made = await _with_siblings(solved, start, recording, fit, functions)
    if made.familiar.issuperset(made.siblings):  # nothing is asked anew
        more = await _aimed(solved, start, recording, functions)
        both = {name: [*fit.get(name, ()), *more.get(name, ())] for name in functions}
        both = {name: each for name, each in both.items() if each}
        made = await _with_siblings(solved, start, recording, both, functions) if more else made
    return replace(made, controlled=await _controlled(solved, made, functions))


async def _aimed(
    solved: Subject, start: Subject, recording: Recording, functions: Sequence[str]
) -> Variants:
    """Siblings of a few functions, made where unsolved code fails."""
    tests = originals(recording)
    few = [name for name in functions if any(test.pairs for test in tests[name])][:_FEW]
    if not few:
        return {}
    sources = {path: data.decode() for path, data in recording.sources.items()}
    keys = tuple(test.key for name in few for test in tests[name])
    watch = Watch(keys, keys, timeout_sec=_FAILING_SEC, hash_seed=_SEED, brief=True)
    (run,) = await start.look(sources, [watch])
    aims = {name: aim(tests[name], recording.all_sites, run) for name in few}
    return await pooled(solved, recording, few, aims)


async def _controlled(
    solved: Subject, recording: Recording, functions: Sequence[str]
) -> dict[str, int]:
    """Tests that need controls and, on the solved tree, do as they should: by node id.

    Returns:
        How many copies may share a process.
    """
    wanted = {
        test.key: node
        for node, test in recording.tests.items()
        if function_of(test.key) in functions
        and needs_controls(recording, node, hidden=True)
        and _controllable(solved, recording.home_of(function_of(test.key)))
    }
    found: dict[str, int] = {}
    for size in SIZES:
        left = [key for key, node in wanted.items() if node not in found]
        looks = (_answering(solved, recording, left, kinds) for kinds in turns(size))
        good = set.intersection(*await together(looks))
        found |= {wanted[key]: size for key in good}
    return found


async def _answering(
    solved: Subject, recording: Recording, keys: Sequence[str], kinds: Sequence[Control]
) -> set[str]:
    """Keys of the tests of which copies pass as they are, and fail otherwise."""
    if not keys:
        return set()
    every = {key: dict(copies(key, kinds)) for key in keys}
    homes = (recording.home_of(function_of(key)) for key in keys)
    sources = controls(solved.modules, dict.fromkeys(homes, kinds))
    watch = Watch(tuple(copy for each in every.values() for copy in each), brief=True)
    (look,) = await solved.look(sources, [watch])
    right = {"real": look.passed, "opposite": look.failed, "failing": look.failed}
    return {key for key, each in every.items() if all(one in right[each[one]] for one in each)}


def _controllable(solved: Subject, function: str) -> bool:
    path, _, test = function.partition("::")
    module = solved.modules.get(path)
    return module is not None and test in module.controllable


async def _with_siblings(
    solved: Subject,
    start: Subject,
    recording: Recording,
    fit: Variants,
    functions: Sequence[str],
) -> Recording:
    tests = originals(recording)
    copies = _copies(start, recording, functions)
    added = {name: [one.sibling for one in fit.get(name, ())] for name in functions}
    for name, copy in copies.items():
        added[name].append(copy)
    asked = {name: each for name, each in added.items() if each}
    run = await tried(start, recording, asked, _SEED, insisting=True)
    ran = {record.id for record in run.records}
    asserted = _asserted(run)
    told = {
        name: telling(
            [one for one in each if ran.issuperset(test.key for test in one.tests)],
            tests[name],
            recording.all_sites,
            run,
            asserted,
            start.modules[file_of(recording.home_of(name))].analysis.source.starts,
        )
        for name, each in fit.items()
    }
    suite_sec = sum(test.seconds for each in tests.values() for test in each)
    kept = await _sure(solved, recording, _affordable(told, max(_NOTHING_SEC, _SHARE * suite_sec)))
    chosen = {name: [one.sibling for one in each] for name, each in kept.items()}
    laid = sources_with(start.modules, recording, chosen)
    return replace(
        recording,
        sources={path: text.encode() for path, text in laid.items()},
        siblings={name: tuple(one.tests for one in each) for name, each in kept.items()},
        familiar=frozenset(
            name for name, each in kept.items() if all(one.familiar for one in each)
        ),
        blind=frozenset(_blind(recording, copies, run, asserted)),
    )


def _asserted(start: Sight) -> frozenset[str]:
    """Keys of the copies in which something was asserted in the process, and did not hold.

    That may be in what prepares them, or in a helper on whose result the rest hangs. Who gets past
    it there may come to what unsolved code gives, and nobody has looked at what that is.
    """
    return frozenset(
        record.id
        for record in start.records
        if _WENT_ON in record.message
        or (record.outcome == "error" and _ASSERTED.search(record.message))
    )


def _copies(start: Subject, recording: Recording, functions: Sequence[str]) -> dict[str, Sibling]:
    """Of each function that is observed and quick, a copy that differs in nothing."""
    tests, found = originals(recording), {}
    for name in functions:
        path, _, test = recording.home_of(name).partition("::")
        module = start.modules.get(path) if path in recording.sites else None
        quick = max(each.seconds for each in tests[name]) <= MOST_SEC
        if module is not None and quick and any(site.test == test for site in module.sites):
            own = f"{test.rpartition('::')[2]}_{crc32(name.encode()):x}_as_it_is"
            found[name] = Sibling(test, own, ())
    return found


def _blind(
    recording: Recording, copies: Mapping[str, Sibling], start: Sight, asserted: frozenset[str]
) -> Iterator[str]:
    """Node ids of the tests whose copies see on the unsolved tree what is seen when solved."""
    ran = {record.id for record in start.records}
    for node, test in recording.tests.items():
        copy, sites = copies.get(function_of(test.key)), recording.sites_of(test.key)
        key = sibling_key(copy, test.key) if copy is not None else ""
        if key in ran and unseen(test, start.pairs(key, sites), sites, past=key in asserted):
            yield node


async def _sure(solved: Subject, recording: Recording, kept: Variants) -> Variants:
    """Those of functions of which all see the same when solved, twice more.

    What unsolved code answers otherwise is chosen, and what is left to chance is likely to be.
    """
    added = {name: [one.sibling for one in each] for name, each in kept.items()}
    runs = await together(tried(solved, recording, added, seed) for seed in _SURE)
    return {
        name: each
        for name, each in kept.items()
        if all(one.holding(recording.all_sites, run) == one for one in each for run in runs)
    }


def _affordable(told: Variants, left: float) -> Variants:
    """One of each function, then a second of each, and so on while there is time."""
    chosen = {name: list(found[:1]) for name, found in told.items() if found}
    left -= sum(_seconds(found[0]) for found in chosen.values())
    for turn in range(1, MOST_SIBLINGS):
        for name, kept in chosen.items():
            if turn < len(told[name]) and left >= _seconds(told[name][turn]):
                kept.append(told[name][turn])
                left -= _seconds(told[name][turn])
    return chosen


def _seconds(variant: Variant) -> float:
    """What its tests take, if each takes what its original does."""
    return sum(test.seconds for test in variant.tests)
