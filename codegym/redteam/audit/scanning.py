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
        copies = [(number, each) for number, each in enumerate(needles) if each.kind == "copy"]
        self._copies = {each.text.decode(): number for number, each in copies}
        self._telling = {word.encode() for _, each in copies for word in each.words or ("def ",)}
        self._compiled: dict[str, list[tuple[int, frozenset[str]]]] = defaultdict(list)
        for number, needle in enumerate(needles):
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
        if is_bytecode(view.data):
            likely = any(name.encode() in view.data for name in self._compiled)
            for code in codes(view.data) if likely else ():
                for number, words in self._compiled.get(code.name, ()):
                    if len(words & code.words) >= _ALIKE * len(words | code.words):
                        yield Hit(number, 0, 0, f"{view.how} > bytecode".removeprefix(" > "))
        elif b"def " in view.data and any(word in view.data for word in self._telling):
            for each in fingerprints(view.data):
                if each.digest in self._copies:
                    how = f"{view.how} > {_FUNCTION}{each.name}".removeprefix(" > ")
                    yield Hit(self._copies[each.digest], 0, 0, how)
