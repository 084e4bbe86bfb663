"""Reading a report in bounded time and memory, whoever wrote it."""

import json

import pytest

from codegym.grading.observe.evidence import read_evidence
from codegym.grading.runners.records import MAX_LINE_BYTES, MAX_LINES, lines_of, read_records
from codegym.types import RunnerCommand

TRUE = b'{"id": "tests/test_a.py::test_a", "outcome": "passed", "seconds": 0.1}\n'


def test_what_a_runner_writes_at_its_longest_is_read():
    longest = {"id": "\N{BUG}" * 2000, "outcome": "failed", "message": "\N{BUG}" * 4000}
    (found,) = read_records(json.dumps(longest).encode())
    assert (found.id, found.message) == (longest["id"], longest["message"])


FLOODS = {
    "nested lists": b"[" + b"[]," * MAX_LINE_BYTES + b"[]]\n",
    "an object of them": b'{"id": [' + b"[]," * MAX_LINE_BYTES + b"[]]}\n",
    "line ends": b"\n" * MAX_LINES * 4,
    "what was seen": b'{"k": 1}\n' * MAX_LINES * 2,
    "no text": b"\xff\n" * 1000,
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_flood_is_passed_over(flood):
    assert [one.outcome for one in read_records(flood + TRUE)] == ["passed"]
    assert not read_evidence(flood + TRUE).observations


def test_after_so_many_lines_nothing_is_read():
    assert read_records(b"{}\n" * (MAX_LINES - 1) + TRUE + TRUE) == read_records(TRUE)
    assert read_records(TRUE + b"{}\n" * MAX_LINES) == read_records(TRUE)


def test_lines_are_as_they_are():
    assert list(lines_of(b"a\n\n\nb\r\n \nc")) == [b"a", b"b\r", b" ", b"c"]
    assert list(lines_of(b"\n\n")) == []


def test_lines_without_the_mark_are_not_the_runners():
    command = RunnerCommand(("/x",), {}, mark=b"ab")
    assert command.own(b"abone\ntwo\n\nab\nabab") == b"one\n\nab"
    assert RunnerCommand(("/x",), {}).own(b"one\ntwo") == b"one\ntwo"
