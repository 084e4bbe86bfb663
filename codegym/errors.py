"""Every error CodeGym raises on purpose, and whose fault it is.

    CodeGymError
    ├── UsageError          the caller's: a bad option, name or argument (exit status 2)
    │   └── NotFoundError   a name that does not exist; says the nearest that does
    ├── DataError           a file's: says file, line and field (exit status 2)
    ├── UnavailableError    this machine's: a missing part, with how to mend it (exit status 3)
    ├── SandboxError        infrastructure: retried on another sandbox, never a score of 0
    ├── TaskError           the task's: it is quarantined
    └── PolicyError         what a policy depends on (an endpoint): retried later, never scored

What an agent does is never an error: it is scored.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class CodeGymError(Exception):
    """Base of all errors that CodeGym raises on purpose."""

    exit_status = 1


class UsageError(CodeGymError, ValueError):
    """The caller passed something that cannot be used."""

    exit_status = 2


class NotFoundError(UsageError, LookupError):
    """A name that does not exist.

    Args:
        what: The kind of thing, for example ``"task"``.
        name: The name that was asked for.
        known: The names that exist; the nearest is suggested.
        hint: What to do next, for example a command.
    """

    def __init__(self, what: str, name: str, known: Iterable[str] = (), hint: str = "") -> None:
        near = difflib.get_close_matches(name, list(known), n=1)
        parts = [f"no {what} named {name!r}"]
        if near:
            parts.append(f"did you mean {near[0]!r}?")
        if hint:
            parts.append(hint)
        super().__init__("; ".join(parts))


class DataError(CodeGymError, ValueError):
    """A file's content is wrong; the message names file, line and field.

    Args:
        path: The file.
        problem: What is wrong.
        line: The 1-based line, where there is one.
        field: The key or field, where there is one.
    """

    exit_status = 2

    def __init__(
        self, path: Path | str, problem: str, *, line: int | None = None, field: str | None = None
    ) -> None:
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {f'{field}: ' if field else ''}{problem}")
        self.path, self.problem, self.line, self.field = Path(path), problem, line, field


class UnavailableError(CodeGymError, RuntimeError):
    """This machine lacks a part; ``mend`` says how to get it."""

    exit_status = 3

    def __init__(self, problem: str, mend: str) -> None:
        super().__init__(f"{problem}. {mend}")
        self.problem, self.mend = problem, mend


class SandboxError(CodeGymError, RuntimeError):
    """The sandbox broke, not the agent: retry elsewhere, never score."""


class PolicyError(CodeGymError, RuntimeError):
    """What a policy depends on failed, not what it decided: no evidence, to be retried later."""


class TaskError(CodeGymError, RuntimeError):
    """The task is broken, whoever attempts it: quarantine it."""

    def __init__(self, task_id: str, problem: str) -> None:
        super().__init__(f"task {task_id}: {problem}")
        self.task_id, self.problem = task_id, problem
