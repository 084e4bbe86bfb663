"""What an edit policy knows of a repository, and the actions that find it out."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from codegym.agents.edits.choices import choices
from codegym.mutation.candidates import Candidate
from codegym.mutation.suspicion import Heat, heat_of
from codegym.syntax import GRAMMARS, language_of, parse
from codegym.types import History, call

#: What is shown of the survey at once; an observation holds more (see ``max_output_chars``).
PIECE_CHARS = 12_000
_FILE = "/tmp/codegym-survey"
_PROTECTED = re.compile(r"Do not change tests or their set-up \((.*)\)\.")


@dataclass(frozen=True, eq=False)
class Survey:
    """What was found: edits to choose from, and how suspicious lines are."""

    edits: tuple[Candidate, ...]
    heat: Heat


def first_look(history: History) -> str:
    """The action that looks around, and shows the first piece of what was found."""
    told = _PROTECTED.search(history.first.instruction)
    protected = [one.strip() for one in told[1].split(",")] if told else []
    suffixes = sorted({suffix for one in GRAMMARS.values() for suffix in one.suffixes})
    asked = shlex.quote(json.dumps({"suffixes": suffixes, "protected": protected}))
    script = (Path(__file__).parent / "payload" / "survey.py").read_text(encoding="utf-8")
    lines = (
        f"cat > {_FILE}.py <<'END_OF_SURVEY'\n{script}END_OF_SURVEY",
        f"python {_FILE}.py {asked} > {_FILE} 2> /dev/null; wc -c < {_FILE}",
        f"head -c {PIECE_CHARS} {_FILE}",
    )
    return call("bash", command="\n".join(lines))


def next_look(pieces: int) -> str:
    """The action that shows one more piece."""
    start = pieces * PIECE_CHARS + 1
    return call("bash", command=f"tail -c +{start} {_FILE} | head -c {PIECE_CHARS}")


def pieces_of(first: str) -> int:
    """How many pieces there are, as the first look's output says; 0 where it failed."""
    size = first.partition("\n")[0].strip()
    return -(-int(size) // PIECE_CHARS) if size.isascii() and size.isdecimal() else 0


@lru_cache(maxsize=64)
def surveyed(outputs: tuple[str, ...], limit: int) -> Survey:
    """Read what the looks showed; no edits where it cannot be read.

    Args:
        outputs: Of all looks, in order.
        limit: Edits to choose from, at most.
    """
    found = _read("".join((outputs[0].partition("\n")[2], *outputs[1:])))
    sources: Mapping[str, str] = found.get("sources", {})
    spoken = Counter(language for path in sources if (language := language_of(path)))
    if not spoken:
        return Survey((), {})
    language = spoken.most_common(1)[0][0]
    parsed = {
        path: parse(text.encode(), language)
        for path, text in sorted(sources.items())
        if language_of(path) == language
    }
    files = {path: one for path, one in parsed.items() if one.is_clean}
    counts = {
        path: {int(line): (fails, passes) for line, (fails, passes) in lines.items()}
        for path, lines in found["counts"].items()
    }
    heat = heat_of(counts, found["failing"])
    return Survey(choices(files, heat, limit), heat)


def _read(text: str) -> Mapping[str, Any]:
    """Undo what the survey wrote. It comes from the policy's own sandbox: it may be anything."""
    try:
        found = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
    except (binascii.Error, zlib.error, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def as_call(edit: Candidate) -> str:
    """The action that makes an edit: a replacement of whole lines, as many as make them unique."""
    source, start, end = edit.source.source, edit.edit.start, edit.edit.end
    first = source.rfind(b"\n", 0, start) + 1
    last = _line_end(source, end)
    while source.count(source[first:last]) > 1:
        first = source.rfind(b"\n", 0, max(first - 1, 0)) + 1
        last = _line_end(source, last)
    old = source[first:last]
    new = source[first:start] + edit.edit.replacement + source[end:last]
    return call("edit", path=edit.path, old=old.decode(), new=new.decode())


def _line_end(source: bytes, at: int) -> int:
    """The end of the line that holds the last byte before ``at``, its break included; or the next.

    Called with its own result, it goes one line further.
    """
    found = source.find(b"\n", at)
    return len(source) if found < 0 else found + 1


def undo(paths: Sequence[str]) -> str:
    """The action that puts files back as they were at the start."""
    return call("bash", command=f"git checkout -q -- {shlex.join(paths)}")
