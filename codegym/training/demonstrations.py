"""Demonstrations: what someone who knew the fault would have done, played in real sandboxes.

A generated task's solution is the inverse of the mutation. It is shown as a person would do it:
look at the place, put it right with one exact replacement, run the tests, submit.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

from codegym.agents.oracle import solution
from codegym.errors import UsageError
from codegym.tasks.sources import environment
from codegym.types import Action, File, History, Task, TaskSource, Tree, call
from codegym.workspace.trees import trees_of

_AROUND = 6


@dataclass
class Demonstrator:
    """The policy that shows how.

    Attributes:
        tests: Whether the tests are run on the repaired code.
        around: Lines that are viewed before and after each place.
    """

    tests: bool = True
    around: int = _AROUND
    _source: TaskSource | None = field(init=False, default=None)
    _scripts: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)

    @property
    def version(self) -> str:
        """Of what is shown."""
        return f"1-{self.tests}-{self.around}"

    def reveal(self, source: TaskSource) -> None:
        """Note where the answers are."""
        self._source = source

    async def act(self, history: History) -> Action:
        """The next step of the demonstration."""
        if self._source is None:
            raise UsageError("a demonstrator must be shown the tasks first (`reveal`)")
        if history.task_id not in self._scripts:
            task = self._source.get(history.task_id)
            script = await asyncio.to_thread(demonstration, task, self.tests, self.around)
            self._scripts[history.task_id] = script
        script = self._scripts[history.task_id]
        return Action(script[min(len(history.turns), len(script) - 1)])


def demonstration(task: Task, tests: bool = True, around: int = _AROUND) -> tuple[str, ...]:
    """The actions that show how a task is solved; ``submit`` is the last.

    Raises:
        TaskError: The task is broken.
    """
    _, graded, gold = trees_of(task, environment(task.environment))
    if graded.keys() != gold.keys():  # files come and go: no replacement will do
        return tuple(solution(task))
    steps = list(_repairs(graded, gold, around))
    if tests:
        steps.append(call("run_tests"))
    return (*steps, call("submit"))


def _repairs(old: Tree, new: Tree, around: int) -> Iterator[str]:
    for path in sorted(new):
        if old[path] == new[path]:
            continue
        before, after = _lines(old[path]), _lines(new[path])
        shift = 0
        for first, last, lines in _changes(before, after):
            at = first + shift
            start, end = max(1, at + 1 - around), min(len(before), at + (last - first) + around)
            yield call("view", path=path, start_line=start, end_line=max(start, end))
            old_text, new_text = _unique(before, at, at + last - first, lines)
            yield call("edit", path=path, old=old_text, new=new_text)
            before[at : at + last - first] = lines
            shift += len(lines) - (last - first)


def _changes(before: list[str], after: list[str]) -> list[tuple[int, int, list[str]]]:
    """Ranges of lines, and the lines that take their place."""
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    codes = matcher.get_opcodes()
    return [(a, b, after[c:d]) for tag, a, b, c, d in codes if tag != "equal"]


def _unique(before: list[str], first: int, last: int, lines: list[str]) -> tuple[str, str]:
    """A replacement with as many lines around it as make the old text occur once."""
    text = "".join(before)
    while True:
        old = "".join(before[first:last])
        if old and _occurrences(text, old) == 1:
            return old, "".join(lines)
        if last < len(before) and (not old or first == 0):
            lines, last = [*lines, before[last]], last + 1
        elif first > 0:
            first -= 1
            lines = [before[first], *lines]
        else:
            return old, "".join(lines)


def _occurrences(text: str, piece: str) -> int:
    return sum(text.startswith(piece, at) for at in range(len(text) - len(piece) + 1))


def _lines(file: File) -> list[str]:
    return file.data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
