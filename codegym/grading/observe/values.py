"""Values as data: read from JSON that cannot be trusted, written back, described."""

from __future__ import annotations

from typing import Any

from codegym.types import Value


def decode(data: Any) -> Value:
    """Read a value. Raises ``ValueError`` on all that ``encode`` would not write."""
    raise NotImplementedError


def encode(value: Value) -> Any:
    """The JSON of a value: ``decode(encode(v)) == v``."""
    raise NotImplementedError


def known(value: Value) -> bool:
    """Whether nothing of it is opaque, cyclic or too large: it can be compared."""
    raise NotImplementedError


def describe(value: Value) -> str:
    """As Python would write it, on one line, bounded: for messages."""
    raise NotImplementedError
