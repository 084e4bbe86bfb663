"""Recipes that change what is written out: numbers, text, signs and words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegym.mutation.operators.matches import Match
from codegym.syntax import Edit

_INTEGER = re.compile(
    rb"(?P<hex>0[xX])?(?P<digits>(?(hex)[0-9a-fA-F_]+?|(?:0|[1-9][0-9_]*)))"
    rb"(?P<suffix>[uUlL]*|n|[iu](?:8|16|32|64|128|size))"
)
_FLOAT = re.compile(rb"(?P<digits>[0-9]+\.[0-9]+)(?P<suffix>[fFdD]|f32|f64)?")
#: One more than these may be too much for the type that they are written for.
_LARGEST = frozenset(
    most for bits in (7, 8, 15, 16, 31, 32, 63, 64, 127, 128) for most in (2**bits - 1, 2**bits)
)
_SIGNS = b"+-*/&|<>=!^%~"


def other(match: Match, table: str) -> Iterator[Edit]:
    """All that it is taken for, one after the other."""
    for each in _options(match, table):
        yield match.replaced(_apart(match, each))


def one(match: Match, table: str) -> Iterator[Edit]:
    """One of those that it is taken for."""
    options = _options(match, table)
    if options:
        yield match.replaced(_apart(match, match.one_of(options)))


def _options(match: Match, table: str) -> tuple[bytes, ...]:
    return match.dialect.tables[table].get(match.text(match.at), ())


def _apart(match: Match, sign: bytes) -> bytes:
    """A sign so that it does not run into its neighbours: ``a*-b`` would be ``a--b``."""
    if sign[:1].isalpha():
        return sign
    before, after = match.beside()
    return (
        (b" " if before and before in _SIGNS else b"")
        + sign
        + (b" " if after and after in _SIGNS else b"")
    )


def number(match: Match, _: str) -> Iterator[Edit]:
    """A number becomes one more or one less; a broken one one more, or half as much."""
    written = match.text(match.at)
    sign, written = (b"-", written[1:]) if written.startswith(b"-") else (b"", written)
    if found := _INTEGER.fullmatch(written):
        prefix, suffix = found["hex"] or b"", found["suffix"]
        base = 16 if prefix else 10
        value = int(found["digits"].replace(b"_", b"") or b"0", base)
        nearby = [value - 1] * (value > 0) + [value + 1] * (value not in _LARGEST)
        options = [prefix + (b"%x" if prefix else b"%d") % each + suffix for each in nearby]
    elif found := _FLOAT.fullmatch(written):
        broken, suffix = float(found["digits"]), found["suffix"] or b""
        others = dict.fromkeys((broken + 1, broken / 2))
        options = [repr(each).encode() + suffix for each in others if each != broken]
    else:
        return  # octal, binary, an exponent
    options = [sign + each for each in options if b"e" not in each or b"x" in each]
    if options:
        yield match.replaced(match.one_of(options))


def text(match: Match, _: str) -> Iterator[Edit]:
    """The content of a literal loses its last letter, or is in the other case."""
    try:
        letters = match.text(match.at).decode()
    except UnicodeDecodeError:
        return
    options = [
        each for each in dict.fromkeys((letters[:-1], letters.swapcase())) if each != letters
    ]
    if options and "\n" not in letters:
        yield match.replaced(match.one_of([each.encode() for each in options]))


def exchange(match: Match, words: str) -> Iterator[Edit]:
    """A word in it becomes another: ``"old new"``."""
    old, new = words.encode().split()
    yield match.replaced(match.text(match.at).replace(old, new))


def shift(match: Match, _: str) -> Iterator[Edit]:
    """An end of a range, one more and one less."""
    written = match.text(match.at)
    if written.isdigit() and (written == b"0" or written[:1] != b"0"):
        value = int(written)
        yield match.replaced(b"%d" % (value + 1))
        if value > 0:
            yield match.replaced(b"%d" % (value - 1))
        return
    if re.search(rb"[\w)\]] ?[-+] ?1$", written):
        return  # a pattern of its own leaves the one away
    grouped = match.grouped(match.at)
    yield match.replaced(grouped + b" + 1")
    yield match.replaced(grouped + b" - 1")
