"""The tools a policy can call, and how they are chosen. Each is one small class in its own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from codegym import plugins
from codegym.errors import UsageError
from codegym.types import Tool

#: The tools that come with CodeGym, in the order that ``tools="default"`` gives them.
BUILTIN: Mapping[str, str] = {
    "bash": "codegym.envs.tools.bash:Bash",
    "view": "codegym.envs.tools.view:View",
    "edit": "codegym.envs.tools.edit:Edit",
    "write": "codegym.envs.tools.write:Write",
    "search": "codegym.envs.tools.search:Search",
    "run_tests": "codegym.envs.tools.run_tests:RunTests",
    "submit": "codegym.envs.tools.submit:Submit",
}


@dataclass(frozen=True)
class Toolbox:
    """The tools of one env, by name, in the order given."""

    tools: Mapping[str, Tool]

    @cached_property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """Each tool's name to the JSON schema of its arguments."""
        return {name: tool.parameters for name, tool in self.tools.items()}

    @cached_property
    def functions(self) -> tuple[dict[str, Any], ...]:
        """The tools in the form that chat models take."""
        return tuple(
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for name, tool in self.tools.items()
        )


def load_tools(names: str | Sequence[str]) -> Toolbox:
    """Load tools.

    Args:
        names: ``"default"``, or a list of names, plug-ins' names and ``module:attr``.

    Raises:
        UsageError: No tool is named, two have one name, or one is no tool.
    """
    if names != "default" and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise UsageError(f'tools: expected "default" or a list of names, got {names!r}')
    wanted = tuple(BUILTIN) if isinstance(names, str) else tuple(names)
    if not wanted:
        raise UsageError("tools: the list is empty; name at least one tool, or use 'default'")
    tools: dict[str, Tool] = {}
    for name in wanted:
        tool = _load(name)
        if tool.name in tools:
            raise UsageError(f"tools: two are named {tool.name!r}")
        tools[tool.name] = tool
    return Toolbox(tools)


def _load(name: str) -> Tool:
    if not isinstance(name, str):
        raise UsageError(f"tools: expected names, got {name!r}")
    found = plugins.load("tools", name, BUILTIN)
    tool = found() if isinstance(found, type) else found
    missing = [part for part in ("name", "description", "parameters") if not hasattr(tool, part)]
    if missing or not callable(tool):
        lacks = ", ".join(missing) or "__call__"
        raise UsageError(f"tools: {name!r} is no tool: it lacks {lacks} (see codegym.types.Tool)")
    return cast("Tool", tool)
