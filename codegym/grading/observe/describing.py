"""Values in words, for messages."""

from __future__ import annotations

from collections.abc import Sequence

from codegym.grading.observe.atoms import NoAtomError, atom
from codegym.types import Value

MAX_CHARS = 200
_BRACKETS = {"list": "[]", "tuple": "()", "set": "{}"}
_MAX_BITS = 1000


def describe(value: Value) -> str:
    """As Python would write it, or nearly, on one line of at most ``MAX_CHARS`` characters."""
    text = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in _text(value, MAX_CHARS + 1)[: MAX_CHARS + 1]
    )
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def _text(value: Value, room: int) -> str:
    """At least ``room`` characters of it, where it has so many."""
    kind, parts = value.kind, value.parts
    if size := _bits_of_large(value):
        return f"an integer of {size} bits"
    if isinstance(value.leaf, str | bytes) and kind in {"str", "bytes", "bytearray"}:
        text = repr(value.leaf[:room])
        return f"bytearray({text})" if kind == "bytearray" else text
    if not any(map(_bits_of_large, parts)):
        try:
            return _plain(value)
        except NoAtomError:
            pass
    if kind in _BRACKETS and (parts or kind != "set"):
        comma = "," if kind == "tuple" and len(parts) == 1 else ""
        return f"{_BRACKETS[kind][0]}{_joined(parts, room)}{comma}{_BRACKETS[kind][1]}"
    if kind == "dict":
        return "{" + _pairs(parts, room, ": ") + "}"
    short = value.name.rpartition(".")[2]
    if kind == "fields":
        named = ((str(name.leaf), part) for name, part in zip(parts[::2], parts[1::2], strict=True))
        inner = ", ".join(f"{name}={_text(part, room)}" for name, part in named)
        return f"{short}({inner})"
    return _special(value, short, room)


def _bits_of_large(value: Value) -> int:
    """The size of an integer that Python may refuse to write; 0 for all else."""
    size = value.leaf.bit_length() if isinstance(value.leaf, int) else 0
    return size if size > _MAX_BITS else 0


def _plain(value: Value) -> str:
    found = atom(value)
    name = value.name
    return str(found) if name == "decimal.Decimal" else repr(found)


def _special(value: Value, short: str, room: int) -> str:
    kind, parts = value.kind, value.parts
    if kind == "error":
        said = parts[0].leaf
        return (
            f"{short}: {said}" if isinstance(said, str) else f"{short}({_joined(parts[2:], room)})"
        )
    if kind == "enum":
        return f"{short}.{parts[0].leaf!s}"
    if kind in {"class", "function"}:
        return value.name.removeprefix("builtins.")
    if kind == "opaque":
        return f"a {value.name}"
    if kind == "digest":
        return f"a {value.name.removeprefix('builtins.')} of {_text(parts[1], room)} characters"
    return "…" if kind == "cycle" else f"{short or kind}({_joined(parts, room)})"


def _joined(parts: Sequence[Value], room: int) -> str:
    texts: list[str] = []
    for part in parts:
        if room <= 0:
            break
        texts.append(_text(part, room))
        room -= len(texts[-1]) + 2
    return ", ".join(texts)


def _pairs(parts: Sequence[Value], room: int, between: str) -> str:
    texts: list[str] = []
    for key, part in zip(parts[::2], parts[1::2], strict=True):
        if room <= 0:
            break
        texts.append(f"{_text(key, room)}{between}{_text(part, room)}")
        room -= len(texts[-1]) + 2
    return ", ".join(texts)
