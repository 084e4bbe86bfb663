"""``search``: lines that match a pattern."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.envs.text import decode
from codegym.types import Box, ToolResult

_MAX_LINES = 200
_MAX_LINE_CHARS = 300


class Search:
    """Finds lines by an extended regular expression, as ``grep -E`` does."""

    name = "search"
    description = (
        "Find lines that match an extended regular expression, below a folder or in a file. "
        f"Gives path:line:text, at most {_MAX_LINES} of them. Binary files and .git are left out."
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "The expression, for example: def \\w+_at",
            },
            "path": {"type": "string", "description": "File or folder; the repository by default."},
            "glob": {"type": "string", "description": "Only files with such a name: *.py"},
            "ignore_case": {"type": "boolean", "description": "Take a and A as the same."},
        },
        "required": ["pattern"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Search."""
        pattern, path = arguments["pattern"], arguments.get("path", ".")
        argv = ["/usr/bin/grep", "-rHnIE", "--exclude-dir=.git"]
        if arguments.get("ignore_case"):
            argv.append("-i")
        if "glob" in arguments:
            argv.append(f"--include={arguments['glob']}")
        result = await box.exec([*argv, "-e", pattern, "--", path])
        output = decode(result.output)
        if result.exit_code == 1 or (result.exit_code == 0 and not output):
            return ToolResult("no match")
        if result.exit_code != 0 and not result.timed_out and ":" not in output.split("\n")[0]:
            raise ValueError(f"search: grep exited {result.exit_code}")
        return ToolResult(_bound(output, partial=bool(result.omitted_bytes or result.timed_out)))


def _bound(output: str, *, partial: bool) -> str:
    # grep's order is the file system's; a sorted answer is the same every time.
    lines = sorted(output.removeprefix("./").replace("\n./", "\n").splitlines(), key=_place)
    shown = [
        line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}…"
        for line in lines[:_MAX_LINES]
    ]
    if partial:
        shown.append("[… there are more matches than fit; narrow the pattern, path or glob]")
    elif len(lines) > _MAX_LINES:
        shown.append(f"[… {len(lines) - _MAX_LINES} more; narrow the pattern, path or glob]")
    return "\n".join(shown) + "\n"


def _place(line: str) -> tuple[str, int]:
    path, _, rest = line.partition(":")
    number = rest.partition(":")[0]
    return path, int(number) if number.isdecimal() and number.isascii() else 0
