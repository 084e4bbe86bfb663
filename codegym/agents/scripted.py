"""``scripted``: a list of actions, whatever happens."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import DataError, UsageError
from codegym.types import Action, History, call


@dataclass(frozen=True)
class Scripted:
    """Takes the actions of a list in turn, then submits.

    Attributes:
        path: A file with an action on each line: a JSON tool call, or a JSON string that is sent as
            it stands (so that a malformed action can be scripted too).
        actions: The actions themselves, where there is no file.
    """

    path: Path | None = None
    actions: tuple[str, ...] = ()
    version: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if self.path is not None and self.actions:
            raise UsageError("scripted: give a path or actions, not both")
        if self.path is not None:
            object.__setattr__(self, "actions", read_actions(self.path))
        digest = hashlib.sha256("\0".join(self.actions).encode("utf-8", "replace"))
        object.__setattr__(self, "version", digest.hexdigest()[:16])

    async def act(self, history: History) -> Action:
        """The next action of the list."""
        turn = len(history.turns)
        return Action(self.actions[turn] if turn < len(self.actions) else call("submit"))


def read_actions(path: Path) -> tuple[str, ...]:
    """Read a script.

    Raises:
        DataError: It cannot be read, or a line is neither an object nor a string.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read as a script: {error}") from error
    actions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise DataError(path, f"not JSON: {error}", line=number) from None
        if not isinstance(value, dict | str):
            raise DataError(path, "expected a tool call or a string", line=number)
        actions.append(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return tuple(actions)
