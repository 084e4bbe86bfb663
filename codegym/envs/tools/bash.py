"""``bash``: a command in the persistent shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from codegym.envs.text import decode
from codegym.types import Box, CommandResult, ToolResult

_WHY_RESTARTED = {
    "timeout": "the shell was started anew",
    "exit": "the shell ended and was started anew",
    "memory": "the sandbox ran out of memory and the shell was started anew",
}


class Bash:
    """Runs a command; directory, variables and functions are kept between calls."""

    name = "bash"
    description = (
        "Run a shell command in the repository. The working directory and variables are kept "
        "between calls. Standard input is empty. Returns output and errors together."
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command, for example: pytest -q"},
            "timeout_sec": {
                "type": "number",
                "minimum": 0.1,
                "description": "Kill it after this many seconds, where less than the usual limit.",
            },
        },
        "required": ["command"],
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Run the command."""
        timeout_sec = float(arguments.get("timeout_sec", float("inf")))
        result = await box.shell(arguments["command"], timeout_sec=timeout_sec)
        return ToolResult(describe(result), exit_code=result.exit_code)


def describe(result: CommandResult) -> str:
    """A command's output, with a line for each thing that the output does not show."""
    text = decode(result.output)
    notes = []
    if result.omitted_bytes:
        notes.append(f"{result.omitted_bytes} bytes were cut out of the middle of the output")
    if result.timed_out:
        notes.append(f"killed after {result.seconds:.0f} s; all processes in the sandbox ended")
    if result.restarted:
        kept = "files, working directory and exported variables are kept"
        why = _WHY_RESTARTED.get(result.restarted, "the shell was started anew")
        notes.append(f"{why}; {kept}")
    if not notes:
        return text
    return text + ("\n" if text and not text.endswith("\n") else "") + f"[{'; '.join(notes)}]\n"
