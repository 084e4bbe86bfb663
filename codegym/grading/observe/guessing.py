"""How hard a value is to guess, for the forging bound of a grade.

The model: the guesser knows the tests, the code and all inputs, and lacks outputs. It is granted
what is likely: small numbers, words instead of letters, what it has said once already, and any
input, part of an input, size of an input or number next to one, for which it only needs to say
which. It is not granted to compute: who runs the right function has solved the task. A value costs
at most ``MAX_BITS``, so that one long text does not carry a whole grade. It is a model, not a
proof: a result that is a known formula's is charged as if it were arbitrary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator

from codegym.grading.observe.atoms import NoAtomError, atom
from codegym.types import Value

MAX_BITS = 64.0
_CHAR_BITS = 6.0  # 64 letters, digits and signs
_WORD_BITS = 16.0  # a vocabulary
NAME_BITS = 3.0  # one of the classes, functions or members that the code has
_NEAR = 2
_TOKENS = re.compile(r"\w+|\W")


def bits(value: Value, inputs: Collection[Value] = ()) -> float:
    """Bits that the guesser lacks; 0 for what says nothing, at most ``MAX_BITS``.

    Args:
        value: What it would have to say.
        inputs: Values of the test that it knows.
    """
    return min(MAX_BITS, _Guesser(inputs).cost(value))


class _Guesser:
    """What it knows, which grows with what it has said."""

    def __init__(self, inputs: Collection[Value]) -> None:
        self._values: set[Value] = set()
        self._tokens: set[str] = set()
        self._numbers: set[int] = set()
        for value in inputs:
            for part in _all_parts(value):
                self._learn(part)
                if part.parts:
                    self._numbers.add(len(part.parts))

    def _learn(self, value: Value) -> None:
        self._values.add(value)
        if isinstance(value.leaf, str) and value.kind == "str":
            self._tokens.update(_TOKENS.findall(value.leaf))
            self._numbers.add(len(value.leaf))
        if value.kind == "int" and isinstance(value.leaf, int):
            self._numbers.add(value.leaf)

    def cost(self, value: Value) -> float:
        """Bits for a value or a part of one."""
        if value in self._values:
            return min(self._index(self._values), self._fresh(value))
        found = self._fresh(value)
        self._learn(value)
        return min(found, MAX_BITS)

    def _fresh(self, value: Value) -> float:
        kind, leaf = value.kind, value.leaf
        if kind in {"opaque", "cycle", "approx", "any"}:
            return 0.0
        if kind in {"none", "bool", "constant"}:
            return 1.0
        if kind == "int" and isinstance(leaf, int):
            return self._int(leaf)
        if kind == "float":
            return self._float(value)
        if kind == "str" and isinstance(leaf, str):
            return self._text(leaf)
        if isinstance(leaf, bytes):
            return _gamma(len(leaf)) + min(MAX_BITS, 8.0 * len(set(leaf)))
        if kind == "digest":
            return MAX_BITS
        if kind == "error":
            return NAME_BITS + self.cost(value.parts[0]) + self.cost(value.parts[2])
        if kind in {"class", "function", "enum"}:
            return NAME_BITS
        parts = value.parts[1::2] if kind == "fields" else value.parts
        size = 0.0 if kind in {"std", "sub", "fields"} else _gamma(len(parts))
        return size + self._sum(parts)

    def _sum(self, parts: Collection[Value]) -> float:
        """Each different part once."""
        total = 0.0
        for part in dict.fromkeys(parts):
            total += self.cost(part)
            if total >= MAX_BITS:
                break
        return total

    def _int(self, number: int) -> float:
        plain = _gamma(abs(number)) + (number < 0)
        if any(number + step in self._numbers for step in range(-_NEAR, _NEAR + 1)):
            return min(plain, self._index(self._numbers) + math.log2(2 * _NEAR + 1))
        return plain

    def _float(self, value: Value) -> float:
        try:
            number = atom(value)
        except NoAtomError:
            return 0.0
        if not math.isfinite(number):
            return 2.0
        if number == int(number) and abs(number) < 1 << 53:
            return 1.0 + self._int(int(number))
        digits = sum(char.isdigit() for char in repr(number).partition("e")[0].strip("0."))
        return 2.0 + digits * math.log2(10)

    def _text(self, text: str) -> float:
        total = _gamma(len(text)) / 2 if text else 1.0
        for token in _TOKENS.findall(text):
            if token in self._tokens:
                total += self._index(self._tokens)
            else:
                total += min(_CHAR_BITS * len(token), _WORD_BITS)
                self._tokens.add(token)
            if total >= MAX_BITS:
                break
        return total

    @staticmethod
    def _index(known: Collection[object]) -> float:
        return math.log2(1 + len(known))


def _gamma(number: int) -> float:
    """Elias' gamma code, of a number from 0."""
    return 2.0 * ((number + 1).bit_length() - 1) + 1


def _all_parts(value: Value) -> Iterator[Value]:
    yield value
    for part in value.parts:
        yield from _all_parts(part)
