"""Unified diffs as data: a strict reading of what ``git diff`` writes.

Lenient readers skip what they do not know. Here each line is understood or the patch is refused:
a task whose patch was read by half would be another task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from codegym.types import Mode
from codegym.workspace.quoting import unquote

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: .*|\r?)")
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to"
    rb"|similarity index|dissimilarity index|index) (.*)",
    re.DOTALL,
)
_MODES: dict[str, Mode] = {"100644": "100644", "100755": "100755", "120000": "120000"}


class PatchError(ValueError):
    """What is wrong with a patch, and at which of its lines."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} of the patch: {problem}")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines to replace, ends kept, from the 0-based index ``start`` on."""

    line: int
    start: int
    old: list[bytes]
    new: list[bytes]


@dataclass(slots=True)
class Section:
    """What a patch does to one file. ``old`` is None for a new one, ``new`` for a deleted one."""

    line: int
    old: str | None
    new: str | None
    old_mode: Mode | None = None
    new_mode: Mode | None = None
    copy: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def parse(patch: bytes) -> list[Section]:
    """Read a patch. Text before the first file and a mail's signature are passed over.

    Raises:
        PatchError: Anything else in it that is not understood.
    """
    lines = patch.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return _Parser(lines).sections()


class _Parser:
    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self._at = 0

    def sections(self) -> list[Section]:
        found: list[Section] = []
        self._pass_over()
        while (line := self._peek()) is not None:
            if line.startswith(b"diff --git "):
                found.append(self._git_section())
            elif line.startswith(b"--- "):
                found.append(self._plain_section())
            elif line == b"-- ":
                self._pass_over()
            elif not line.strip():
                self._at += 1
            else:
                raise self._error("is neither a file's header nor part of a hunk")
        return found

    def _peek(self) -> bytes | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _error(self, problem: str) -> PatchError:
        return PatchError(self._at + 1, problem)

    def _pass_over(self) -> None:
        """Skip prose: to the next file's header, or the end."""
        start = self._at
        while (line := self._peek()) is not None:
            following = self._lines[self._at + 1 : self._at + 2]
            if line.startswith(b"diff --git "):
                return
            if line.startswith(b"--- ") and following and following[0].startswith(b"+++ "):
                return
            if line.startswith((b"@@ ", b"GIT binary patch", b"Index: ")):
                raise self._error("comes before any file's header (`diff --git` or `---`, `+++`)")
            self._at += 1
        if start == 0 and any(line.strip() for line in self._lines):
            self._at = 0
            raise self._error("no file's header (`diff --git` or `---`, `+++`) follows")

    def _git_section(self) -> Section:
        line = self._at + 1
        pairs = _header_pairs(self._lines[self._at][len(b"diff --git ") :])
        self._at += 1
        extended = self._extended_headers()
        if (self._peek() or b"").startswith((b"GIT binary patch", b"Binary files ")):
            raise self._error(
                "binary patches are not supported; write the file's text, or leave it"
            )
        section = Section(line, None, None)
        for key, mode in extended.items():
            if key in ("old mode", "deleted file mode"):
                section.old_mode = self._mode(line, mode)
            elif key in ("new mode", "new file mode"):
                section.new_mode = self._mode(line, mode)
        moved = "rename" if "rename from" in extended else "copy"
        section.copy = "copy from" in extended
        old, new = extended.get(f"{moved} from"), extended.get(f"{moved} to")
        if (old is None) != (new is None):
            raise PatchError(line, f"`{moved} from` and `{moved} to` must come together")
        if old is not None and new is not None:
            pairs = [pair for pair in pairs if pair == (_name(old), _name(new))]
        else:
            pairs = [pair for pair in pairs if pair[0] == pair[1]]
        if (self._peek() or b"").startswith(b"--- "):
            old_name, new_name = self._names()
            pairs = [p for p in pairs if old_name in (None, p[0]) and new_name in (None, p[1])]
            section.hunks = self._hunks()
            self._agree(line, extended, old_name, new_name)
        if len(pairs) != 1:
            raise PatchError(line, "the names in this file's headers do not agree")
        created, deleted = "new file mode" in extended, "deleted file mode" in extended
        section.old = None if created else pairs[0][0]
        section.new = None if deleted else pairs[0][1]
        if (created and deleted) or not (extended.keys() - {"index"} or section.hunks):
            raise PatchError(line, "this file's headers do not say what is done to it")
        return section

    def _agree(self, line: int, extended: dict[str, str], old: str | None, new: str | None) -> None:
        """Refuse ``/dev/null`` where the headers tell otherwise."""
        if (old is None) != ("new file mode" in extended) or (new is None) != (
            "deleted file mode" in extended
        ):
            raise PatchError(line, "`/dev/null` and `new file mode`, `deleted file mode` disagree")

    def _extended_headers(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while (match := _EXTENDED.fullmatch(self._peek() or b"")) is not None:
            key = match.group(1).decode()
            if key in found:
                raise self._error(f"a second `{key}`")
            found[key] = _text(match.group(2))
            self._at += 1
        return found

    def _plain_section(self) -> Section:
        line = self._at + 1
        old, new = self._names()
        if old is not None and new is not None and old != new:
            raise PatchError(line, f"{old!r} and {new!r} differ and nothing says it is renamed")
        if old is None and new is None:
            raise PatchError(line, "names no file")
        return Section(line, old, new, hunks=self._hunks())

    def _names(self) -> tuple[str | None, str | None]:
        names: list[str | None] = []
        for mark, prefix in ((b"--- ", "a/"), (b"+++ ", "b/")):
            line = self._peek()
            if line is None or not line.startswith(mark):
                raise self._error(f"should begin with `{mark.decode()}`")
            text = _text(line[4:])
            name = _name(text if text.startswith('"') else text.partition("\t")[0])
            if name != "/dev/null" and not name.startswith(prefix):
                raise self._error(f"the name should begin with `{prefix}` or be `/dev/null`")
            names.append(None if name == "/dev/null" else name[2:])
            self._at += 1
        return names[0], names[1]

    def _hunks(self) -> list[Hunk]:
        hunks: list[Hunk] = []
        while (line := self._peek()) is not None and line.startswith(b"@@ "):
            hunks.append(self._hunk(line))
        if not hunks:
            raise self._error("a hunk (`@@ -… +… @@`) should follow")
        return hunks

    def _hunk(self, header: bytes) -> Hunk:
        match = _HUNK.fullmatch(header)
        if match is None:
            raise self._error("is no hunk header")
        start, old_count, new_count = (
            int(match.group(1)),
            int(match.group(2) or b"1"),
            int(match.group(4) or b"1"),
        )
        if start == 0 and old_count:
            raise self._error("lines are counted from 1")
        hunk = Hunk(self._at + 1, start - 1 if old_count else start, [], [])
        self._at += 1
        while len(hunk.old) < old_count or len(hunk.new) < new_count:
            self._body_line(hunk)
        if (self._peek() or b"").startswith(b"\\"):
            self._body_line(hunk)
        if len(hunk.old) != old_count or len(hunk.new) != new_count:
            raise PatchError(hunk.line, "the hunk has more lines than its header says")
        return hunk

    def _body_line(self, hunk: Hunk) -> None:
        line = self._peek()
        if line is None:
            raise PatchError(hunk.line, "the hunk has fewer lines than its header says")
        tag, text = line[:1] or b" ", line[1:] + b"\n"
        if tag not in (b" ", b"-", b"+", b"\\"):
            raise self._error("is no line of a hunk (` `, `-`, `+` or `\\`)")
        if tag == b"\\":
            self._cut_newline(hunk)
        if tag in (b" ", b"-"):
            hunk.old.append(text)
        if tag in (b" ", b"+"):
            hunk.new.append(text)
        self._at += 1

    def _cut_newline(self, hunk: Hunk) -> None:
        r"""``\ No newline at end of file`` is about the line before it."""
        before = self._lines[self._at - 1][:1] or b" "
        if self._at == hunk.line or before == b"\\":
            raise self._error("no line before it")
        for tags, lines in ((b" -", hunk.old), (b" +", hunk.new)):
            if before in tags:
                lines[-1] = lines[-1].removesuffix(b"\n")

    def _mode(self, line: int, text: str) -> Mode:
        if text == "160000":
            raise PatchError(line, "submodules are not supported")
        mode = _MODES.get(text)
        if mode is None:
            raise PatchError(line, f"{text!r} is no mode of a file (100644, 100755, 120000)")
        return mode


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _name(text: str) -> str:
    """A name that may be quoted; one that is malformed stands for itself and matches nothing."""
    if text.startswith('"'):
        found = unquote(text)
        if found is not None and (not found[1] or found[1].startswith("\t")):
            return found[0]
    return text


def _header_pairs(line: bytes) -> list[tuple[str, str]]:
    """All readings of ``a/OLD b/NEW``: a name may hold `` b/`` itself."""
    text = _text(line)
    if text.startswith('"'):
        found = unquote(text)
        splits = [(found[0], _name(found[1][1:]))] if found and found[1][:1] == " " else []
    elif text.endswith('"') and ' "' in text:
        at = text.index(' "')
        splits = [(text[:at], _name(text[at + 1 :]))]
    else:
        spaces = [at for at in range(len(text)) if text.startswith(" b/", at)]
        splits = [(text[:at], text[at + 1 :]) for at in spaces]
    return [(a[2:], b[2:]) for a, b in splits if a.startswith("a/") and b.startswith("b/")]
