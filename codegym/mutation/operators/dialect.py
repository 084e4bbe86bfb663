"""What edits need to know of a language besides its grammar: as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: What a sign, a name or a word is taken for.
Table = Mapping[bytes, tuple[bytes, ...]]


@dataclass(frozen=True)
class Dialect:
    """A language for which operators are written as queries.

    Attributes:
        language: Its name, as ``codegym.syntax`` knows it.
        root: Node type of a whole file.
        atoms: Node types of expressions that need no parentheses among operators.
        loops: Node types that ``continue`` and ``break`` belong to.
        switches: Node types that only ``break`` belongs to.
        leaving: Node types of statements after which nothing follows.
        empty: A statement that does nothing; ``b""`` where a block may hold none.
        hollow: Whether a block may hold no statement.
        returns: Field of a function that has the type of its result; ``""`` without types.
        zeros: Patterns of types, each with a value of its own that says nothing; the first counts.
        stub: Body of a function that is not implemented; ``{zero}`` stands for a returned value.
        typed: Whether what is taken for another must be of its type, or a compiler refuses it.
        tables: What is taken for what.
        awkward: Pattern of expressions that mean something else at the start of a statement.
    """

    language: str
    root: str
    atoms: frozenset[str]
    loops: frozenset[str]
    switches: frozenset[str]
    leaving: frozenset[str]
    stub: bytes
    tables: Mapping[str, Table]
    empty: bytes = b";"
    hollow: bool = True
    returns: str = ""
    zeros: tuple[tuple[bytes, bytes], ...] = ()
    typed: bool = True
    awkward: bytes = rb"(?!)"


def swaps(pairs: str) -> dict[bytes, tuple[bytes, ...]]:
    """A table of words that are taken for each other: ``"min max, first last"``."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for pair in pairs.split(","):
        one, other = pair.encode().split()
        found[one] = (*found.get(one, ()), other)
        found[other] = (*found.get(other, ()), one)
    return found


def signs(rows: str) -> dict[bytes, tuple[bytes, ...]]:
    """A table of signs, a row each: the sign, then what it is taken for."""
    parts = [row.encode().split() for row in rows.strip().splitlines()]
    return {row[0]: tuple(row[1:]) for row in parts}


COMPARISONS = signs("""
<  <= >=
<= <  >
>  >= <=
>= >  <
== !=
!= ==
""")
ARITHMETIC = signs("""
+  -
-  +
*  + /
/  * %
%  / *
<< >>
>> <<
&  |
|  & ^
^  | &
""")
ASSIGNMENTS = {
    one + b"=": (b"=", *(each + b"=" for each in others)) for one, others in ARITHMETIC.items()
}
BOOLEANS = signs("""
&& ||
|| &&
""")
STEPS = signs("""
++ --
-- ++
""")
FLAGS = signs("""
true false
false true
""")


def tables(**own: Table) -> dict[str, Table]:
    """The tables that most languages share, with what one has besides."""
    shared: dict[str, Table] = {
        "comparison": COMPARISONS,
        "arithmetic": ARITHMETIC,
        "assignment": ASSIGNMENTS,
        "boolean": BOOLEANS,
        "step": STEPS,
        "flag": FLAGS,
    }
    return shared | {name: {**shared.get(name, {}), **table} for name, table in own.items()}
