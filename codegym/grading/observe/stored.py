"""Recordings and pools as bytes, for the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from codegym.grading.observe.pooling import Variants
from codegym.grading.observe.recording import Pair, Recording, TestRecord
from codegym.grading.observe.sites import Sibling, Site
from codegym.grading.observe.values import decode, encode
from codegym.grading.observe.variants import Variant


def dump(recording: Recording) -> bytes:
    """Write a recording down."""
    plain = {
        "sources": {path: data.decode() for path, data in recording.sources.items()},
        "sites": {
            path: [_plain_site(site) for site in sites.values()]
            for path, sites in recording.sites.items()
        },
        "unsteady": {key: sorted(each) for key, each in recording.unsteady.items()},
        "tests": {node: _plain_test(test) for node, test in recording.tests.items()},
        "siblings": {
            function: [[_plain_test(test) for test in variant] for variant in variants]
            for function, variants in recording.siblings.items()
        },
        "familiar": sorted(recording.familiar),
        "blind": sorted(recording.blind),
        "controlled": dict(sorted(recording.controlled.items())),
        "notes": list(recording.notes),
    }
    return json.dumps(plain).encode()


def load(data: bytes) -> Recording:
    """Read what ``dump`` wrote."""
    plain = json.loads(data)
    sites = {
        path: {fields["id"]: _site(fields) for fields in found}
        for path, found in plain["sites"].items()
    }
    return Recording(
        sources={path: text.encode() for path, text in plain["sources"].items()},
        sites=sites,
        unsteady={key: frozenset(each) for key, each in plain["unsteady"].items()},
        tests={node: _test(fields) for node, fields in plain["tests"].items()},
        siblings={
            function: tuple(tuple(map(_test, variant)) for variant in variants)
            for function, variants in plain["siblings"].items()
        },
        familiar=frozenset(plain["familiar"]),
        blind=frozenset(plain["blind"]),
        controlled=dict(plain["controlled"]),
        notes=tuple(plain["notes"]),
    )


def dump_pool(pool: Variants) -> bytes:
    """Write a pool down."""
    return json.dumps(
        {name: list(map(_plain_variant, each)) for name, each in pool.items()}
    ).encode()


def load_pool(data: bytes) -> Variants:
    """Read what ``dump_pool`` wrote."""
    return {name: tuple(map(_variant, each)) for name, each in json.loads(data).items()}


def _plain_variant(variant: Variant) -> list[Any]:
    sibling = variant.sibling
    rows = None if sibling.rows is None else sorted(sibling.rows)
    named = sibling.test, sibling.name, sibling.mirrored
    return [*named, sibling.edits, rows, list(map(_plain_test, variant.tests))]


def _variant(fields: Sequence[Any]) -> Variant:
    test, name, mirrored, edits, rows, tests = fields
    sibling = Sibling(
        test,
        name,
        tuple((start, end, text) for start, end, text in edits),
        None if rows is None else frozenset((name, place) for name, place in rows),
        mirrored,
    )
    return Variant(sibling, tuple(map(_test, tests)))


def _plain_site(site: Site) -> dict[str, Any]:
    names = ("id", "test", "line", "text", "form", "op", "sides", "sealed")
    fields = {name: getattr(site, name) for name in names}
    return {**fields, "options": [list(option) for option in site.options]}


def _site(fields: Mapping[str, Any]) -> Site:
    return Site(**{**fields, "options": tuple((name, value) for name, value in fields["options"])})


def _plain_test(test: TestRecord) -> list[Any]:
    return [
        test.key,
        test.seconds,
        [
            [pair.site, encode(pair.actual), *map(encode, [pair.expected] if pair.expected else [])]
            for pair in test.pairs
        ],
        list(map(encode, test.lacking)),
    ]


def _test(fields: Sequence[Any]) -> TestRecord:
    key, seconds, found, lacking = fields
    pairs = tuple(Pair(site, *map(decode, values)) for site, *values in found)
    return TestRecord(key, pairs, seconds, tuple(map(decode, lacking)))
