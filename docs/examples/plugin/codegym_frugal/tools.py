"""A tool: what a Python file defines, without its bodies."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.types import Box, ToolResult

DEFINITION = re.compile(r"^[ \t]*(?:async\s+)?(?:def|class)\s+\w+.*", re.MULTILINE)


class Outline:
    """Reads a file in the policy's sandbox; nothing is run or read outside of it."""

    name = "outline"
    description = "List the functions and classes that a Python file defines."
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file."}},
        "required": ["path"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """A ``ValueError``, as for a file that is not there, becomes the answer."""
        text = (await box.read(arguments["path"])).decode(errors="replace")
        return ToolResult("\n".join(DEFINITION.findall(text)) or "nothing is defined there")
