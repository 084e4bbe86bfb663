"""Demonstrations: what someone who knew the fault would have done, played in real sandboxes.

A generated task's solution is the inverse of the mutation. It is shown as a person would do it:
look at the place (at a short file: all of it), put it right with one exact replacement, run the
tests, submit.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from codegym.agents.oracle import solution
from codegym.errors import UsageError
from codegym.tasks.sources import environment
from codegym.training.ranges import FROM_0, check
from codegym.types import Action, File, History, Task, TaskSource, Tree, call
from codegym.workspace.trees import trees_of

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]+")


@dataclass(frozen=True, slots=True)
class Showing:
    """How it is shown.

    Attributes:
        tests: Whether the tests are run on the repaired code.
        around: Lines that are viewed before and after each place, >= 0; 0: nothing is viewed.
        words: Whether replacements are of the fewest words that say which, and not of whole lines:
            a tiny model has less to copy.
    """

    tests: bool = True
    around: int = 6
    words: bool = False

    def __post_init__(self) -> None:
        """Raise ``UsageError`` where one is out of its range."""
        check(self, around=FROM_0)


@dataclass
class Demonstrator:
    """The policy that shows how; its options are those of ``Showing``."""

    tests: bool = True
    around: int = 6
    words: bool = False
    _source: TaskSource | None = field(init=False, default=None)
    _scripts: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)

    @property
    def version(self) -> str:
        """Of what is shown."""
        return f"2-{self.tests}-{self.around}-{self.words}"

    def reveal(self, source: TaskSource) -> None:
        """Note where the answers are."""
        self._source = source

    async def act(self, history: History) -> Action:
        """The next step of the demonstration."""
        if self._source is None:
            raise UsageError("a demonstrator must be shown the tasks first (`reveal`)")
        if history.task_id not in self._scripts:
            task = self._source.get(history.task_id)
            self._scripts[history.task_id] = await asyncio.to_thread(
                demonstration, task, Showing(self.tests, self.around, self.words)
            )
        script = self._scripts[history.task_id]
        return Action(script[min(len(history.turns), len(script) - 1)])


def demonstration(task: Task, how: Showing) -> tuple[str, ...]:
    """The actions that show how a task is solved; ``submit`` is the last.

    Raises:
        TaskError: The task is broken.
    """
    _, graded, gold = trees_of(task, environment(task.environment))
    if graded.keys() != gold.keys():  # files come and go: no replacement will do
        return tuple(solution(task))
    steps = list(_repairs(graded, gold, how))
    if how.tests:
        steps.append(call("run_tests"))
    return (*steps, call("submit"))


def _repairs(old: Tree, new: Tree, how: Showing) -> Iterator[str]:
    for path in sorted(new):
        if old[path] == new[path]:
            continue
        before, after = _lines(old[path]), _lines(new[path])
        shift, seen = 0, len(before) <= 2 * how.around or not how.around
        if seen and how.around:
            yield call("view", path=path)
        for first, last, lines in _changes(before, after):
            at, end = first + shift, last + shift
            if not seen:
                top, bottom = max(1, at + 1 - how.around), min(len(before), end + how.around)
                yield call("view", path=path, start_line=top, end_line=max(top, bottom))
            old_text, new_text = (_few_words if how.words else _unique)(before, at, end, lines)
            yield call("edit", path=path, old=old_text, new=new_text)
            before[at:end] = lines
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


def _few_words(before: list[str], first: int, last: int, lines: list[str]) -> tuple[str, str]:
    """A replacement of whole words, as many around the difference as make the old text occur once.

    The words to the left come first, and none beyond a line's beginning unless it must be.
    """
    text, new = "".join(before), "".join(lines)
    start = len("".join(before[:first]))
    end = start + len("".join(before[first:last]))
    same = _alike(text[start:end], new)
    tail = min(_alike(text[start:end][::-1], new[::-1]), min(end - start, len(new)) - same)
    bounds = [0, *(found.end() for found in _TOKEN.finditer(text))]
    left = bisect_right(bounds, start + same) - 1
    right = bisect_left(bounds, end - tail)
    while True:
        a, b = bounds[left], bounds[right]
        old = text[a:b]
        if (old and _occurrences(text, old) == 1) or not text:
            middle = new[same : len(new) - tail]
            return old, text[a : start + same] + middle + text[end - tail : b]
        inside = left > 0 and "\n" not in text[bounds[left - 1] : a]
        if inside or right == len(bounds) - 1:
            left -= 1
        else:
            right += 1


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _occurrences(text: str, piece: str) -> int:
    return sum(text.startswith(piece, at) for at in range(len(text) - len(piece) + 1))


def _lines(file: File) -> list[str]:
    return file.data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
