"""Turns as lines of a trajectory's file: token ids are packed, and none is written twice.

A prompt usually starts with all tokens of the turn before; of those only the number is written.
"""

from __future__ import annotations

import base64
import binascii
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegym.errors import DataError
from codegym.runs.codec import decode
from codegym.types import Action, Observation, TokenTrace, Turn


@dataclass(frozen=True, slots=True)
class PackedTrace:
    """A ``TokenTrace`` beside the one before it.

    Attributes:
        kept: So many tokens are those of the trace before, prompt and completion.
        prompt: The rest of the prompt; like the others a letter for the items' type (as in
            ``array``), then the little-endian items in base64.
        completion: Token ids.
        logprobs: As single floats where that loses nothing.
    """

    kept: int
    prompt: str
    completion: str
    logprobs: str


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A line: a turn whose action's tokens are beside it."""

    action: Action
    observation: Observation
    reward: float
    seconds: float
    tokens: PackedTrace | None = None


class TurnRecords:
    """Makes the records of a trajectory's turns, in order.

    Args:
        turns: Those that were recorded before.
    """

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._before: tuple[int, ...] = ()
        for turn in turns:
            self._note(turn.action.tokens)

    def record(self, turn: Turn) -> TurnRecord:
        """The record of the next turn."""
        trace, packed = turn.action.tokens, None
        if trace is not None:
            kept = _common(self._before, trace.prompt_ids)
            packed = PackedTrace(
                kept,
                _pack("HI", trace.prompt_ids[kept:]),
                _pack("HI", trace.completion_ids),
                _pack("fd", trace.logprobs),
            )
        self._note(trace)
        action = replace(turn.action, tokens=None)
        return TurnRecord(action, turn.observation, turn.reward, turn.seconds, packed)

    def _note(self, trace: TokenTrace | None) -> None:
        if trace is not None:
            self._before = trace.prompt_ids + trace.completion_ids


def read_turns(lines: Iterable[tuple[int, bytes]], path: Path) -> Iterator[Turn]:
    """Read a trajectory's records, given all lines in order, with their numbers.

    Raises:
        DataError: It is not that, with file, line and field.
    """
    before: tuple[int, ...] = ()
    for number, line in lines:
        record = decode(TurnRecord, line, path, number)
        action = record.action  # with its tokens in it, as they were written once
        if record.tokens is not None:
            try:
                action = replace(action, tokens=_unpack_trace(record.tokens, before))
            except (ValueError, binascii.Error) as error:
                raise DataError(path, str(error), line=number, field="tokens") from None
        if action.tokens is not None:
            before = action.tokens.prompt_ids + action.tokens.completion_ids
        yield Turn(action, record.observation, record.reward, record.seconds)


def _unpack_trace(packed: PackedTrace, before: tuple[int, ...]) -> TokenTrace:
    if not 0 <= packed.kept <= len(before):
        raise ValueError(f"{packed.kept} tokens of the turn before, which has {len(before)}")
    prompt, completion = _unpack("HI", packed.prompt), _unpack("HI", packed.completion)
    return TokenTrace(
        before[: packed.kept] + tuple(map(int, prompt)),
        tuple(map(int, completion)),
        tuple(_unpack("fd", packed.logprobs)),
    )


def _pack(types: str, values: Sequence[float]) -> str:
    """The values as the first type that holds them exactly."""
    for each in types:
        try:
            items = array(each, values)
        except OverflowError:
            continue
        if each == types[-1] or items.tolist() == list(values):
            break
    if sys.byteorder == "big":
        items.byteswap()
    return each + base64.b64encode(items.tobytes()).decode()


def _unpack(types: str, text: str) -> Sequence[float]:
    if text[:1] not in types or not text:
        raise ValueError(f"{text[:1]!r} is no type of items; there are: {', '.join(types)}")
    items = array(text[0])
    items.frombytes(base64.b64decode(text[1:], validate=True))
    if sys.byteorder == "big":
        items.byteswap()
    return items


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common start."""
    if second[: len(first)] == first:
        return len(first)
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
