"""Mild changes of literals: the same type, another value."""

from __future__ import annotations

import ast
import math
import string
from random import Random

from codegym.grading.observe.text import Edit, Source, apply
from codegym.syntax.python import parse_expression

_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_BRACKETS = {ast.List: "[]", ast.Set: "{}", ast.Tuple: "()"}
_LARGE = 250
_OPPOSITE = 0.08
_TURNS = (0, 2, 3)  # of a step that is taken once
_DIRECTIVE = "%\\{"  # what follows is an instruction, not a letter


def changed(node: ast.expr | ast.stmt, source: Source, rng: Random) -> str | None:
    """Another literal's source in a literal's place, or None where there is none.

    Args:
        node: A constant, the display of a list, set or tuple, or a call; of a statement, what is
            given back comes before it.
        source: Where it is.
        rng: Chooses.
    """
    if isinstance(node, ast.stmt):
        return f"for _cg_turn in range({rng.choice(_TURNS)}): "
    if isinstance(node, ast.List | ast.Set | ast.Tuple):
        return _display(node, source, rng)
    if isinstance(node, ast.Call):
        return _call(node, source, rng)
    if not isinstance(node, ast.Constant):
        return None
    value = node.value
    new: object = None
    if isinstance(value, bool):
        new = not value
    elif isinstance(value, int):
        new = _whole(value, rng)
    elif isinstance(value, float):
        new = _real(value, rng)
    elif isinstance(value, str):
        new = _text(value, rng)
    elif isinstance(value, bytes) and value.isascii():
        new = _text(value.decode("ascii"), rng).encode("ascii", "ignore")
    if new is None or new == value:
        return None
    text = repr(new)
    return f"({text})" if isinstance(new, int | float) and not isinstance(new, bool) else text


def _call(node: ast.Call, source: Source, rng: Random) -> str | None:
    """Its last literal one time less, or once more; or one argument less that has a name."""
    given = sorted([*node.args, *node.keywords], key=source.span)
    fewer = [cut for part in node.keywords if (cut := _without(part, given, source)) is not None]
    last = node.args[-1] if len(node.args) > 1 else None
    if isinstance(last, ast.Constant) and (cut := _without(last, given, source)) is not None:
        after = source.span(last)[1]
        fewer = [cut, (after, after, f", {source.text(last)}"), *fewer]
    if not fewer or "#" in source.text(node):
        return None
    return apply(source.data, [rng.choice(fewer)], source.span(node)).decode()


def _without(part: ast.AST, given: list[ast.AST], source: Source) -> Edit | None:
    """Take out an argument that is not the first; None where it is in brackets of its own."""
    at = given.index(part)
    start, end = source.span(part)
    before = source.span(given[at - 1])[1]
    alone = source.data[before:start].strip() == b"," and source.data[end:].lstrip()[:1] in b",)"
    return (before, end, "") if at and alone else None


def _whole(value: int, rng: Random) -> int:
    """Mostly of the same sign, and about the same size; larger ones are harder to guess."""
    if value and rng.random() < _OPPOSITE:
        return -value
    size = abs(value)
    near = rng.choice([size + 1, size + 2, rng.randint(1, 2 * size + 2), rng.randint(10, _LARGE)])
    near += near == size
    return -near if value < 0 else near


def _real(value: float, rng: Random) -> float | None:
    if not math.isfinite(value):
        return None
    if rng.random() < _OPPOSITE:
        return -value
    return round(value + rng.choice([0.25, 0.5, 1.0, 1.25]) * (1 if value >= 0 else -1), 12)


def _text(value: str, rng: Random) -> str:
    """Letters exchanged for others of their class, two swapped, or one said twice."""
    places = [
        index
        for index, letter in enumerate(value)
        if any(letter in known for known in _CLASSES)
        and (index == 0 or value[index - 1] not in _DIRECTIVE)
    ]
    if not places:
        return value + value[-1] if value.strip() else value
    at = rng.choice(places)
    way = rng.randrange(5)
    if way == 0 and at + 1 in places and value[at] != value[at + 1]:
        return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
    if way == 1:
        return value[:at] + value[at] + value[at:]
    letters = list(value)
    for place in places if way == 2 else [at]:
        letters[place] = _letter(value[place], rng)
    return "".join(letters)


def _letter(old: str, rng: Random) -> str:
    """Another of its class: often a neighbour, which is more likely to be there too."""
    known = next(known for known in _CLASSES if old in known)
    near = (known.index(old) + rng.choice([1, 1, 2, -1])) % len(known)
    others = [letter for letter in known if letter != old]
    return rng.choice([known[near], rng.choice(others)])


def _display(node: ast.List | ast.Set | ast.Tuple, source: Source, rng: Random) -> str | None:
    """One element less, or one twice, or two that changed places."""
    texts = [source.text(element) for element in node.elts]
    if len(texts) < 2 or any("#" in text for text in texts):
        return None
    at = rng.randrange(len(texts) - 1)
    way = rng.randrange(3)
    if way == 0:
        texts.pop(at)
    elif way == 1:
        texts.insert(at, texts[at])
    else:
        texts[at], texts[at + 1] = texts[at + 1], texts[at]
    brackets = _BRACKETS[type(node)]
    new = brackets[0] + ", ".join(texts) + ("," if len(texts) == 1 else "") + brackets[1]
    start, end = source.span(node)
    same = ast.dump(parse_expression(new)) == ast.dump(
        parse_expression(apply(source.data, [], (start, end)))
    )
    return None if same else new
