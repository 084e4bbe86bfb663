"""``edit``: an exact replacement in a file."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.envs.text import cut_middle, decode
from codegym.envs.tools.write import check_path, is_executable
from codegym.types import Box, ToolResult

#: The nearest text is looked for only in files of at most so many lines.
_NEAREST_MAX_LINES = 20_000


class Edit:
    """Replaces one piece of text, which must occur exactly once."""

    name = "edit"
    description = (
        "Replace text in a file. `old` must occur exactly once, whitespace included; add "
        "surrounding lines to make it unique."
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the repository."},
            "old": {"type": "string", "description": "The exact text to replace."},
            "new": {"type": "string", "description": "The text to put in its place."},
        },
        "required": ["path", "old", "new"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Replace the text."""
        path, old, new = arguments["path"], arguments["old"].encode(), arguments["new"].encode()
        check_path(path)
        if not old:
            raise ValueError("old: it is empty; to make a new file, use write")
        if old == new:
            raise ValueError("new: it is the same as old")
        data = await box.read(path)
        found = _places(data, old)
        if len(found) != 1:
            raise ValueError(f"{path}: {_advice(data, old, found)}; nothing was changed")
        at = found[0]
        changed = data[:at] + new + data[at + len(old) :]
        await box.write(path, changed, executable=await is_executable(box, path))
        return ToolResult(f"edited {path} at line {_line(data, at)}")


def _places(data: bytes, old: bytes) -> list[int]:
    places, at = [], data.find(old)
    while at >= 0:
        places.append(at)
        at = data.find(old, at + 1)
    return places


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _advice(data: bytes, old: bytes, found: list[int]) -> str:
    if found:
        lines = ", ".join(str(_line(data, at)) for at in found[:10])
        more = ", …" if len(found) > 10 else ""
        return f"old occurs {len(found)} times (lines {lines}{more}); add lines to make it unique"
    return f"old does not occur{_nearest(decode(data), decode(old))}"


def _nearest(text: str, old: str) -> str:
    """The place that is most like ``old``, found by its most telling line."""
    lines, wanted = text.splitlines(), old.splitlines()
    if len(lines) > _NEAREST_MAX_LINES:
        return ""
    first = max(range(len(wanted)), key=lambda number: len(wanted[number].strip()))
    near = difflib.get_close_matches(wanted[first][:500], lines, n=1, cutoff=0.6)
    if not near:
        return ""
    start = max(0, lines.index(near[0]) - first)
    block = "\n".join(lines[start : start + len(wanted)])
    return f"; the nearest text, at line {start + 1}, is:\n{cut_middle(block, 2000)}\n"
