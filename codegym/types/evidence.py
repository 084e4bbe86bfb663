"""What the observed sites of tests gave, as a process that code under test shares claims it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["a", "e"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of Python as data, exactly typed: two are equal where all of them is the same.

    So ``1``, ``1.0`` and ``True`` are three values; what Python makes of them is
    ``codegym.grading.observe.comparing``'s business.

    Attributes:
        kind: What it is: ``"int"``, ``"list"``, ``"subclass"``, ``"opaque"``…
        name: The qualified name of its type, or what it is the name of, where the kind leaves
            that open; else ``""``.
        leaf: The content of an atom; a float is its hexadecimal text, so that ±0 differ.
        parts: What it is made of; of a dict, keys and values in turn.
    """

    kind: str
    name: str = ""
    leaf: bool | int | str | bytes | None = None
    parts: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Sighting:
    """One value at one site: of its actual side (``"a"``) or its expected one (``"e"``)."""

    site: int
    role: Role
    value: Value


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a report claims was seen. Bounded, and junk is left out; otherwise untrusted.

    Attributes:
        nodes: Key of a test to its node id; only of a run that was asked to say so.
        observations: Key of a test to what was seen in it, in order. A test that saw nothing is
            not in it.
    """

    nodes: Mapping[str, str] = field(default_factory=dict)
    observations: Mapping[str, tuple[Sighting, ...]] = field(default_factory=dict)
