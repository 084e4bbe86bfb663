"""Dataclasses as bytes: JSON for the fields, then whatever of them is bytes.

Only what a class declares is taken: unknown fields, other types and other lengths are refused.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any

from codegym.sandbox.remote.wire import WireError

_LENGTH = struct.Struct(">I")


def encode(message: object) -> bytes:
    """A message as bytes."""
    blobs: list[bytes] = []
    fields = _plain(message, blobs)
    head = [type(message).__name__, fields, [len(blob) for blob in blobs]]
    header = json.dumps(head, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(header)), header, *blobs])


def decode(data: bytes, kinds: Mapping[str, type]) -> object:
    """The message that bytes are.

    Args:
        data: What ``encode`` made, or anything else.
        kinds: The classes it may be of, by name.

    Raises:
        WireError: It is none of them.
    """
    try:
        (size,) = _LENGTH.unpack_from(data)
        at = _LENGTH.size + size
        name, fields, lengths = json.loads(data[_LENGTH.size : at])
        blobs = []
        for length in lengths:
            blobs.append(data[at : at + _of(int, length)])
            at += length
        if at != len(data) or any(length < 0 for length in lengths):
            raise WireError("its length is wrong")
        return _read(kinds[name], fields, blobs)
    except (struct.error, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise WireError(f"a message that is none: {error}") from error


def _plain(value: Any, blobs: list[bytes]) -> Any:
    if isinstance(value, bytes):
        blobs.append(value)
        return len(blobs) - 1
    if dataclasses.is_dataclass(value):
        return [_plain(getattr(value, field.name), blobs) for field in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        return {key: _plain(each, blobs) for key, each in value.items()}
    if isinstance(value, tuple | frozenset):
        return [_plain(each, blobs) for each in value]
    return value


def _read(kind: Any, value: Any, blobs: list[bytes]) -> Any:
    if kind is bytes:
        return blobs[_of(int, value)]
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast("type", kind))
        return typing.cast("type", kind)(
            *(_read(hint, each, blobs) for hint, each in zip(hints, value, strict=True))
        )
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:  # only ever `X | None`
        return None if value is None else _read(inner[0], value, blobs)
    if origin in (tuple, frozenset):
        return origin(_read(inner[0], each, blobs) for each in _of(list, value))
    if origin is not None:  # a mapping, whose keys are text in JSON
        return {key: _read(inner[1], each, blobs) for key, each in _of(dict, value).items()}
    if kind is float and type(value) is int:
        return float(value)
    return _of(kind, value)


def _of(kind: Any, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{kind.__name__} expected, not {type(value).__name__}")
    return value


@cache
def _hints(kind: type) -> tuple[Any, ...]:
    """The types of a class's fields, in order."""
    hints = typing.get_type_hints(kind)
    return tuple(hints[field.name] for field in dataclasses.fields(kind))
