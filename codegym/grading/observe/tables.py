"""Tables of cases: what loops go over, and what tests are parametrized with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

Path = tuple[int, ...]
Definitions = Callable[[str], ast.expr | None]


@dataclass(frozen=True)
class Parameters:
    """One ``parametrize``: its names, and the rows that give them values.

    Attributes:
        rowed: Each row is a tuple, even of one.
    """

    call: ast.Call
    names: tuple[str, ...]
    rows: ast.expr
    indirect: bool
    rowed: bool

    def path(self, name: str) -> Path:
        """Where a name's value is in a row."""
        return (self.names.index(name),) if self.rowed else ()


def parametrized(decorators: Iterable[ast.expr]) -> list[Parameters]:
    """The ``parametrize`` decorators that can be read."""
    found = []
    for node in decorators:
        if not isinstance(node, ast.Call) or last_name(node.func) != "parametrize":
            continue
        given: dict[str | None, ast.expr] = dict(
            zip(("argnames", "argvalues"), node.args, strict=False)
        )
        given |= {word.arg: word.value for word in node.keywords}
        names, rows = _names(given.get("argnames")), given.get("argvalues")
        if names and rows is not None and len(node.args) <= 2 and None not in given:
            rowed = len(names) > 1 or not isinstance(given["argnames"], ast.Constant)
            found.append(Parameters(node, names, rows, "indirect" in given, rowed))
    return found


def last_name(node: ast.expr) -> str:
    """``c`` of ``a.b.c``, or ``""``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def paths(target: ast.expr) -> dict[str, Path]:
    """Where, in each element that is looped over, the value of a target's name is."""
    if isinstance(target, ast.Name):
        return {target.id: ()}
    if not isinstance(target, ast.Tuple | ast.List):
        return {}
    if any(isinstance(part, ast.Starred) for part in target.elts):
        return {}
    return {
        name: (index, *path)
        for index, part in enumerate(target.elts)
        for name, path in paths(part).items()
    }


def cells(table: ast.expr, path: Path, definitions: Definitions) -> list[ast.expr] | None:
    """What is at a place of each row, or None where that cannot be read off the source.

    Args:
        table: What is looped over: a display, ``enumerate``, ``zip``, ``.items()`` of a display, or
            a name for one of these.
        path: Where in a row.
        definitions: What a name stands for, if it stands for one thing.
    """
    match table:
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            found = [_descend(row, path) for row in rows]
            return None if None in found else [cell for cell in found if cell is not None]
        case ast.Name(id=name):
            known = definitions(name)
            return None if known is None else cells(known, path, definitions)
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if path[:1] == (1,):
            return cells(inner, path[1:], definitions)
        case ast.Call(func=ast.Name(id="zip"), args=columns) if path and path[0] < len(columns):
            return cells(columns[path[0]], path[1:], definitions)
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[inner], keywords=[]):
            return cells(inner, path, definitions)
        case ast.Call(func=ast.Attribute(value=ast.Dict() as shown, attr="items"), args=[]):
            return _values(shown, path)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items"), args=[]):
            known = definitions(name)
            return _values(known, path) if isinstance(known, ast.Dict) else None
        case _:
            return None


def sources(table: ast.expr) -> list[ast.Name]:
    """The names that ``cells`` looks up for a table."""
    match table:
        case ast.Name():
            return [table]
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "list" | "tuple"), args=inner):
            return [name for part in inner for name in sources(part)]
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr="items"), args=[]):
            return [name]
        case _:
            return []


def _values(shown: ast.Dict, path: Path) -> list[ast.expr] | None:
    """Values alone: what distinguishes the keys has to stay."""
    if path[:1] != (1,) or None in shown.keys:
        return None
    found = [_descend(value, path[1:]) for value in shown.values]
    return None if None in found else [cell for cell in found if cell is not None]


def _descend(row: ast.expr, path: Path) -> ast.expr | None:
    if isinstance(row, ast.Call) and last_name(row.func) == "param":
        if any(isinstance(argument, ast.Starred) for argument in row.args):
            return None
        if not path:
            return row.args[0] if len(row.args) == 1 else None
        return _descend(row.args[path[0]], path[1:]) if path[0] < len(row.args) else None
    if isinstance(row, ast.Starred):
        return None
    if not path:
        return row
    if not isinstance(row, ast.Tuple | ast.List) or path[0] >= len(row.elts):
        return None
    if any(isinstance(part, ast.Starred) for part in row.elts):
        return None
    return _descend(row.elts[path[0]], path[1:])


def _names(node: ast.expr | None) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(name.strip() for name in node.value.split(",") if name.strip())
    if isinstance(node, ast.Tuple | ast.List):
        texts = [part.value for part in node.elts if isinstance(part, ast.Constant)]
        return tuple(text for text in texts if isinstance(text, str))
    return ()
