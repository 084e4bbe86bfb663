"""``submit``: the policy is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.types import Box, ToolResult


class Submit:
    """Ends the episode; the work is graded."""

    name = "submit"
    description = "Finish. The files as they are now are graded; nothing can be done afterwards."
    parameters: ClassVar[Mapping[str, Any]] = {"type": "object", "properties": {}}

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:  # noqa: ARG002
        """End the episode."""
        return ToolResult("submitted", submitted=True)
