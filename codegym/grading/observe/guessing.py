"""How hard a value is to guess."""

from __future__ import annotations

from collections.abc import Collection

from codegym.types import Value


def bits(value: Value, inputs: Collection[Value] = ()) -> float:
    """Bits that a guesser lacks."""
    raise NotImplementedError
