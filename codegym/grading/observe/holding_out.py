"""Adds held-out siblings to a recording: variants of some tests with what they see when solved.

Candidates run alone, twice; what is kept then runs among all tests, as it will in a grade. So each
saw the same in three processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from codegym.grading.observe import choosing
from codegym.grading.observe.choosing import Sight
from codegym.grading.observe.record import Subject
from codegym.grading.observe.recording import Recording, TestRecord, file_of, function_of
from codegym.grading.observe.siblings import siblings
from codegym.grading.observe.sites import Sibling
from codegym.grading.suites import Watch

#: A function that takes longer, with all its parameters, has no siblings.
_MOST_SEC = 0.5
_CANDIDATES = 12
_ALONE, _AMONG_ALL = (5, 6), 7

#: Siblings by the function (``path::Class::name``) that they are made of.
Siblings = Mapping[str, Sequence[Sibling]]


async def with_siblings(
    subject: Subject, recording: Recording, functions: Iterable[str]
) -> Recording:
    """The recording with siblings of some functions, where they could be made.

    Args:
        subject: What was recorded.
        recording: Without siblings.
        functions: As ``path::Class::name``.

    Raises:
        SandboxError: The infrastructure broke, more than once.
    """
    return await _Holder(subject, recording, functions).make()


class _Holder:
    def __init__(self, subject: Subject, recording: Recording, functions: Iterable[str]) -> None:
        self._subject, self._recording = subject, recording
        self._originals: dict[str, list[TestRecord]] = {name: [] for name in functions}
        for test in recording.tests.values():
            if function_of(test.key) in self._originals:
                self._originals[function_of(test.key)].append(test)

    async def make(self) -> Recording:
        """Try, choose, and see that the chosen disturb nothing."""
        candidates = self._candidates()
        if not candidates:
            return self._recording
        keys = self._keys(candidates)
        alone = [Watch(keys, limited=keys, hash_seed=seed) for seed in _ALONE]
        runs = await self._subject.look(self._sources(candidates), alone)
        kept = self._chosen(candidates, runs)
        keys = self._keys(kept)
        own = tuple(test.key for test in self._recording.tests.values())
        among = Watch((*own, *keys), limited=keys, hash_seed=_AMONG_ALL)
        final = await self._subject.look(self._sources(kept), [among])
        sites = self._recording.sites
        failing = choosing.failing(self._recording.tests.values(), sites, final)
        disturbed = set(map(file_of, failing))
        kept = {
            name: found
            for name, found in self._chosen(kept, [*runs, *final]).items()
            if file_of(name) not in disturbed
        }
        return self._added(kept, final[0])

    def _candidates(self) -> Siblings:
        found = {}
        for name, tests in self._originals.items():
            path, _, test = name.partition("::")
            module = self._subject.modules.get(path)
            fast = sum(one.seconds for one in tests) <= _MOST_SEC
            if module and tests and fast and path in self._recording.sites:
                found[name] = siblings(module, test, Random(name), _CANDIDATES)
        return {name: made for name, made in found.items() if made}

    def _chosen(self, candidates: Siblings, runs: Sequence[Sight]) -> Siblings:
        found = {}
        for name, tried in candidates.items():
            path = file_of(name)
            sites = self._recording.sites[path]
            found[name] = choosing.keep_siblings(path, self._originals[name], tried, sites, runs)
        return {name: kept for name, kept in found.items() if kept}

    def _keys(self, chosen: Siblings) -> tuple[str, ...]:
        return tuple(key for name, found in chosen.items() for key in self._keys_of(name, found))

    def _keys_of(self, name: str, found: Iterable[Sibling]) -> list[str]:
        own = self._originals[name]
        return [choosing.sibling_key(file_of(name), one, test.key) for one in found for test in own]

    def _sources(self, chosen: Siblings) -> dict[str, str]:
        """All modules as they are laid into a grade."""
        by_file: dict[str, list[Sibling]] = {}
        for name, found in chosen.items():
            by_file.setdefault(file_of(name), []).extend(found)
        sources = {path: data.decode() for path, data in self._recording.sources.items()}
        for path, found in by_file.items():
            observed = frozenset(self._recording.sites[path])
            sources[path] = self._subject.modules[path].shipped(observed, siblings=found)
        return sources

    def _added(self, kept: Siblings, run: Sight) -> Recording:
        variants = {
            name: tuple(
                tuple(
                    choosing.record_of(key, self._recording.sites, run)
                    for key in self._keys_of(name, [one])
                )
                for one in found
            )
            for name, found in kept.items()
        }
        sources = {path: text.encode() for path, text in self._sources(kept).items()}
        return replace(self._recording, sources=sources, siblings=variants)
