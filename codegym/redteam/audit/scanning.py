"""What of the needles is in some bytes, and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegym.redteam.audit.bytecode import codes, is_bytecode
from codegym.redteam.audit.matching import ANCHOR_BYTES, Matcher
from codegym.redteam.audit.needles import Needle
from codegym.redteam.audit.opening import View, views
from codegym.sandbox.images.fingerprint import fingerprints

#: A compiled function is that of the gold tree where so much of their words is the same.
_ALIKE = 0.8
_FUNCTION = "function "


@dataclass(frozen=True, slots=True)
class Hit:
    """A needle, and where it first is.

    Attributes:
        needle: Its number.
        offset: In what ``how`` was made, bytes from 0.
        line: The same in lines, from 1; of bytecode and copies 0.
        how: What was opened to see it, outermost first; ``""`` where it stands there as it is.
    """

    needle: int
    offset: int
    line: int
    how: str = ""

    @property
    def open(self) -> bool:
        """Whether nothing had to be opened or decoded to see it."""
        return not self.how or self.how.startswith(_FUNCTION)


class Scanner:
    """Looks for all needles in whatever it is given.

    Args:
        needles: What is looked for.
        common: Text like what will be looked through.
    """

    def __init__(self, needles: Sequence[Needle], common: bytes = b"") -> None:
        shaped = ("copy", "bytecode")
        self._texts = [
            number
            for number, needle in enumerate(needles)
            if needle.kind not in shaped and len(needle.text) >= ANCHOR_BYTES
        ]
        self._matcher = Matcher([needles[number].text for number in self._texts], common)
        self._copies = {
            each.text.decode(): n for n, each in enumerate(needles) if each.kind == "copy"
        }
        self._compiled: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        self._marks: dict[str, set[tuple[bytes, ...]]] = defaultdict(set)
        for number, needle in enumerate(needles):
            if needle.kind in shaped:
                self._marks[needle.kind].add(_marks(needle))
            if needle.kind == "bytecode":
                self._compiled[needle.text.decode()].append((number, needle.words))

    def scan(self, data: bytes) -> list[Hit]:
        """Each needle that is there, once: in the outermost place that has it."""
        found: dict[int, Hit] = {}
        for view in views(data):
            for hit in (*self._plain(view), *self._shapes(view)):
                found.setdefault(hit.needle, hit)
        return list(found.values())

    def _plain(self, view: View) -> Iterator[Hit]:
        first: dict[int, int] = {}
        for number, offset in self._matcher.find(view.data):
            first[number] = min(offset, first.get(number, offset))
        for number, offset in first.items():
            line = view.data.count(b"\n", 0, offset) + 1
            yield Hit(self._texts[number], offset, line, view.how)

    def _shapes(self, view: View) -> Iterator[Hit]:
        before = f"{view.how} > " if view.how else ""
        if is_bytecode(view.data) and self._likely(view.data, "bytecode"):
            for code in codes(view.data):
                for number, words in self._compiled.get(code.name, ()):
                    if len(words & code.words) >= _ALIKE * len(words | code.words):
                        yield Hit(number, 0, 0, f"{before}bytecode")
        elif b"def " in view.data and self._likely(view.data, "copy"):
            for each in fingerprints(view.data):
                if each.digest in self._copies:
                    yield Hit(self._copies[each.digest], 0, 0, f"{before}{_FUNCTION}{each.name}")

    def _likely(self, data: bytes, kind: str) -> bool:
        """A quick look that spares parsing: long words are rare, and come first."""
        return any(all(word in data for word in marks) for marks in self._marks[kind])


def _marks(needle: Needle) -> tuple[bytes, ...]:
    """Words without which it is not there; of bytecode, which may lack some, the longest."""
    names = sorted((word for word in needle.words if word.isidentifier()), key=len, reverse=True)
    if needle.kind == "bytecode":
        names = [*names[:1], needle.text.decode()]
    return tuple(name.encode() for name in names)
