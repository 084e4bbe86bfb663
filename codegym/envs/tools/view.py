"""``view``: a file with line numbers, or a folder's listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.envs.text import decode
from codegym.types import Box, ToolResult

_MAX_LINES = 2000
_MAX_LINE_CHARS = 2000
_MAX_ENTRIES = 500

# One program for both cases: a second start would double the time.
_SCRIPT = """
if [ -d "$1" ]; then
    cd -- "$1" && /usr/bin/find . -mindepth 1 -maxdepth 2 -name .git -prune -o \
        -mindepth 1 -maxdepth 2 \\( -type d -printf '%P/\\n' -o -printf '%P\\n' \\) || exit 2
    exit 3
fi
"""


class View:
    """Shows a file's lines with their numbers, or what a folder holds."""

    name = "view"
    description = (
        "Show a file with line numbers, all of it or a range of lines, or list a folder "
        "(two levels)."
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "File or folder; `.` is the repository."},
            "start_line": {"type": "integer", "minimum": 1, "description": "First line to show."},
            "end_line": {"type": "integer", "minimum": 1, "description": "Last line to show."},
        },
        "required": ["path"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Show the file or folder."""
        path = arguments["path"]
        start, end = arguments.get("start_line", 1), arguments.get("end_line")
        if end is not None and end < start:
            raise ValueError(f"end_line: {end} is before start_line, {start}")
        listing = await box.exec(["/bin/sh", "-c", _SCRIPT, "sh", path], max_output_bytes=1 << 20)
        if listing.exit_code == 3:
            return ToolResult(_list(decode(listing.output)))
        if listing.exit_code != 0:
            raise ValueError(f"{path}: {decode(listing.output).strip()}")
        return ToolResult(numbered(decode(await box.read(path)), path, start, end))


def _list(output: str) -> str:
    entries = sorted(output.splitlines())
    if not entries:
        return "(empty folder)"
    more = len(entries) - _MAX_ENTRIES
    shown = entries[:_MAX_ENTRIES] + ([f"[… and {more} more]"] if more > 0 else [])
    return "\n".join(shown) + "\n"


def numbered(text: str, path: str, start: int = 1, end: int | None = None) -> str:
    """Lines of a file as they are shown. Raises ``ValueError`` where it has none at ``start``."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return "(empty file)"
    if start > len(lines):
        raise ValueError(f"start_line: {path} has {len(lines)} lines")
    last = min(end or len(lines), len(lines), start + _MAX_LINES - 1)
    width = len(str(last))
    shown = [f"{number:>{width}}\t{_short(lines[number - 1])}" for number in range(start, last + 1)]
    if last < len(lines) and end is None:
        shown.append(f"[… {len(lines) - last} more lines; ask for them with start_line]")
    return "\n".join(shown) + "\n"


def _short(line: str) -> str:
    if len(line) <= _MAX_LINE_CHARS:
        return line
    return f"{line[:_MAX_LINE_CHARS]} [… {len(line) - _MAX_LINE_CHARS} more characters]"
