"""``write``: a whole file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.types import Box, ToolResult


class Write:
    """Makes a file, or replaces all of its content."""

    name = "write"
    description = "Create a file, or replace its whole content. Missing folders are made."
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the repository."},
            "content": {"type": "string", "description": "Its whole content."},
        },
        "required": ["path", "content"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Write the file."""
        path, data = arguments["path"], arguments["content"].encode()
        check_path(path)
        await box.write(path, data, executable=await is_executable(box, path))
        lines = data.count(b"\n")
        return ToolResult(f"wrote {path} ({len(data)} bytes, {lines} lines)")


def check_path(path: str) -> None:
    """Refuse what is no path. Raises ``ValueError``."""
    if not path.strip() or path.endswith("/"):
        raise ValueError(f"path: {path!r} names no file")


async def is_executable(box: Box, path: str) -> bool:
    """Whether a file exists with its execute bit, which a new content must not lose."""
    script = '[ -f "$1" ] && [ -x "$1" ]'
    return (await box.exec(["/bin/sh", "-c", script, "sh", path])).exit_code == 0
