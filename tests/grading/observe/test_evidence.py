"""Reading what was seen from a report that code under test can write to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.observe import evidence
from codegym.grading.observe.evidence import read_evidence
from codegym.types import Evidence, Sighting, Value

GOOD = {"k": "t.py::test", "s": 7, "r": "a", "v": 5}


def report(*lines) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_what_was_seen_is_kept_in_order_with_doubles():
    found = read_evidence(report(GOOD, GOOD | {"r": "e"}, GOOD | {"k": "b"}, GOOD))
    one = Sighting(7, "a", Value("int", leaf=5))
    assert found.observations["t.py::test"] == (one, Sighting(7, "e", one.value), one)
    assert found.observations["b"] == (one,)
    assert found.nodes == {}


def test_node_ids_are_read_once():
    lines = [{"k": "a", "node": "a[1]"}, {"k": "a", "node": "b"}, {"k": "c", "node": "c[é]"}]
    assert read_evidence(report(*lines)) == Evidence({"a": "a[1]", "c": "c[é]"})


@pytest.mark.parametrize(
    "change",
    [
        {"k": 5},
        {"k": "x" * 3000},
        {"k": "\ud800"},
        {"k": "a\nb"},
        {"s": -1},
        {"s": True},
        {"s": 1.0},
        {"s": 10**19},
        {"s": "7"},
        {"r": "b"},
        {"r": ["a"]},
        {"v": 1.5},
        {"v": {"a": 1}},
        {"v": ["list", ["float", "NaN"]]},
        {"more": 1},
    ],
)
def test_junk_is_left_out(change):
    assert read_evidence(report(GOOD | change, GOOD)).observations == {
        "t.py::test": (Sighting(7, "a", Value("int", leaf=5)),)
    }


@pytest.mark.parametrize(
    "line",
    [
        b'{"k":"a","s":7,"s":7,"r":"a","v":5}',
        b'{"k":"a","s":7,"r":"a","v":NaN}',
        b'{"k":"a","s":7,"r":"a","v":' + b"[" * 100_000,
        b'{"k":"a","s":7,"r":"a","v":' + b"[" * 30_000,
        b'{"k":"a","s":7,"r":"a","v":' + b"9" * 10_000 + b"}",
        b'{"k":"a","s":7,"r":"a"}',
        b'{"k":"a"',
        b'{"k":["a"],"node":{}}',
    ],
)
def test_lines_that_are_none(line):
    assert read_evidence(line + b"\n") == Evidence()


def test_a_line_that_is_too_long_is_left_out():
    assert read_evidence(report(GOOD | {"v": "x" * 90_000})) == Evidence()


def test_a_test_is_bounded():
    found = read_evidence(report(*[GOOD] * (evidence.MAX_SIGHTINGS + 5)))
    assert len(found.observations["t.py::test"]) == evidence.MAX_SIGHTINGS


def test_all_of_it_is_bounded():
    line = report(GOOD | {"v": ["list", *[1] * 20_000]})
    found = read_evidence(line * 200)
    assert 0 < len(found.observations["t.py::test"]) <= evidence.MAX_PARTS / 20_000


@given(st.binary(max_size=200))
def test_it_never_raises(data):
    read_evidence(data + b"\n" + b'{"k":"a","s":1,"r":"a","v":' + data + b"}\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.fixed_dictionaries({"k": st.text()}, optional=dict.fromkeys("srv", json_values)))
def test_nor_on_json(fields):
    for seen in read_evidence(report(fields)).observations.values():
        assert all(one.role in {"a", "e"} for one in seen)
