"""``random``: valid actions, drawn from the tools' schemas and the episode's seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegym.types import Action, History, call

#: Texts to draw from, by argument; harmless, and some of them useful.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "command": (
        "ls -la",
        "pytest -q",
        "git status",
        "git log --oneline",
        "cat README.md",
        "find . -name '*.py'",
        "cd src",
        "cd -",
        "false",
    ),
    "path": (".", "README.md", "src", "tests", "notes.md", "pyproject.toml", "src/../README.md"),
    "pattern": ("def ", "class [A-Z]", "assert", "return$"),
}
_ANY_TEXT = ("", "text", "a line\nand another\n", "é ≠ e")
_OPTIONAL_ODDS = 0.25
_SPAN = 20


@dataclass(frozen=True)
class Random:
    """Draws a tool, then its arguments. The same seed and turn give the same action."""

    version = "1"

    async def act(self, history: History) -> Action:
        """Draw an action."""
        rng = np.random.default_rng([history.seed % 2**63, len(history.turns)])
        function: Mapping[str, Any] = _pick(rng, history.tools)["function"]
        arguments = _draw(rng, "", function["parameters"])
        return Action(call(function["name"], **arguments))


def _pick(rng: np.random.Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _draw(rng: np.random.Generator, name: str, schema: Mapping[str, Any]) -> Any:
    """A value that a JSON schema (the part of it that tools use) allows."""
    if "enum" in schema:
        return _pick(rng, schema["enum"])
    kind = schema.get("type", "string")
    match kind if isinstance(kind, str) else _pick(rng, kind):
        case "object":
            required = schema.get("required", ())
            return {
                key: _draw(rng, key, part)
                for key, part in schema.get("properties", {}).items()
                if key in required or rng.random() < _OPTIONAL_ODDS
            }
        case "array":
            return [_draw(rng, name, schema.get("items", {})) for _ in range(rng.integers(1, 3))]
        case "integer":
            low = int(schema.get("minimum", 0))
            return int(rng.integers(low, int(schema.get("maximum", low + _SPAN)) + 1))
        case "number":
            least = float(schema.get("minimum", 0))
            return float(rng.uniform(least, schema.get("maximum", least + _SPAN)))
        case "boolean":
            return bool(rng.integers(2))
        case "null":
            return None
    return _pick(rng, _TEXTS.get(name, _ANY_TEXT))
