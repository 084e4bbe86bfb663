"""Token ids in a trajectory's file: small, and read back exactly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.runs.codec import encode
from codegym.runs.traces import TurnRecords, read_turns
from codegym.types import Action, Observation, TokenTrace, Turn

IDS = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**32 - 1)), max_size=12).map(tuple)
SEEN = Observation("do", "out", 3)


@st.composite
def a_turn(draw):
    said = draw(IDS)
    logprobs = draw(st.lists(st.floats(allow_nan=False), min_size=len(said), max_size=len(said)))
    trace = draw(st.sampled_from([None, TokenTrace(draw(IDS), said, tuple(logprobs))]))
    return Turn(Action("x", trace), SEEN, 0.0, 0.1)


def round_trip(turns, path=Path("t.jsonl")):
    records = TurnRecords()
    lines = [encode(records.record(turn)) for turn in turns]
    assert all(b"\n" not in line for line in lines)
    return tuple(read_turns(enumerate(lines, 2), path)), lines


@given(st.lists(a_turn(), max_size=5), st.booleans())
def test_any_turns_come_back_as_they_were(turns, chained):
    if chained:  # as a policy makes them: each goes on from the last
        before, made = (), []
        for turn in turns:
            if (trace := turn.action.tokens) is not None:
                trace = replace(trace, prompt_ids=before + trace.prompt_ids)
                before = trace.prompt_ids + trace.completion_ids
            made.append(replace(turn, action=Action("x", trace)))
        turns = made
    assert round_trip(turns)[0] == tuple(turns)


@given(st.lists(a_turn(), min_size=2, max_size=5))
def test_a_writer_goes_on_where_another_was(turns):
    _, whole = round_trip(turns)
    assert encode(TurnRecords(turns[:-1]).record(turns[-1])) == whole[-1]


def test_a_token_is_written_once():
    before, turns = (), []
    for number in range(50):
        trace = TokenTrace(before + tuple(range(100)), (number,) * 20, (-0.5,) * 20)
        before = trace.prompt_ids + trace.completion_ids
        turns.append(Turn(Action("x", trace), SEEN, 0.0, 0.1))
    read, lines = round_trip(turns)
    assert read == tuple(turns)
    # 120 ids of two bytes and 20 single floats, in base64; the rest of a line is the same for all.
    assert max(map(len, lines)) < 120 * 2 * 4 / 3 + 20 * 4 * 4 / 3 + 400


def test_what_was_written_before_tokens_were_packed_is_read():
    turn = Turn(Action("x", TokenTrace((1, 2), (3,), (-0.1,))), SEEN, 0.0, 0.1)
    after = Turn(Action("x", TokenTrace((1, 2, 3, 4), (5,), (-0.1,))), SEEN, 0.0, 0.1)
    lines = [(2, encode(turn)), (3, encode(TurnRecords([turn]).record(after)))]
    assert list(read_turns(lines, Path("t"))) == [turn, after]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kept", 9),
        ("kept", -1),
        ("prompt", ""),
        ("prompt", "qAAAA"),
        ("completion", "H%%%%"),
        ("completion", "IAAAA"),
        ("logprobs", "HAAA="),
    ],
)
def test_broken_tokens_are_told_with_their_line(field, value):
    turn = Turn(Action("x", TokenTrace((1, 2), (3,), (-0.1,))), SEEN, 0.0, 0.1)
    row = json.loads(encode(TurnRecords().record(turn)))
    row["tokens"][field] = value
    with pytest.raises(DataError, match=r"t\.jsonl:2: tokens"):
        list(read_turns([(2, json.dumps(row).encode())], Path("t.jsonl")))
