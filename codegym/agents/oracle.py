"""``oracle``: plays the gold patch through the tools, as a policy that knew the answer would."""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from codegym.errors import UsageError
from codegym.tasks.sources import environment
from codegym.types import Action, File, History, Task, TaskSource, Tree, call
from codegym.workspace.trees import trees_of

#: Base64 characters in one command; an action may have 262144 in all.
_CHUNK = 96_000


@dataclass
class Oracle:
    """Writes and deletes the files that the gold patch changes, then submits."""

    version = "1"
    _source: TaskSource | None = field(init=False, default=None)
    _scripts: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)

    def reveal(self, source: TaskSource) -> None:
        """Note where the answers are."""
        self._source = source

    async def act(self, history: History) -> Action:
        """The next step of the answer."""
        if history.task_id not in self._scripts:
            self._scripts[history.task_id] = await asyncio.to_thread(self._solve, history.task_id)
        script = self._scripts[history.task_id]
        return Action(script[min(len(history.turns), len(script) - 1)])

    def _solve(self, task_id: str) -> tuple[str, ...]:
        if self._source is None:
            raise UsageError("oracle: it must be shown the tasks first (`reveal`)")
        return tuple(solution(self._source.get(task_id)))


def solution(task: Task) -> Iterator[str]:
    """The actions that make a task's start into its gold tree, ``submit`` the last."""
    _, graded, gold = trees_of(task, environment(task.environment))
    yield from steps(graded, gold)
    yield call("submit")


def steps(old: Tree, new: Tree) -> Iterator[str]:
    """The actions that make one tree into another."""
    gone = sorted(path for path in old if path not in new)
    if gone:
        yield call("bash", command=f"rm -f -- {shlex.join(gone)}")
    folders = {str(parent) for path in gone for parent in PurePosixPath(path).parents}
    for path in sorted(folders.intersection(new)):  # a file takes an emptied folder's place
        yield call("bash", command=f"find {_quote(path)} -depth -type d -empty -delete")
    for path in sorted(new):
        if old.get(path) != new[path]:
            yield from _lay(path, new[path], old.get(path))


def _lay(path: str, file: File, old: File | None) -> Iterator[str]:
    """The actions that write one file."""
    if file.mode == "120000":
        target = shlex.quote(file.data.decode("utf-8", "surrogateescape"))
        link = f"{_make_folder(path)} && ln -sfn -- {target} {_quote(path)}"
        yield call("bash", command=link)
        return
    was_link = old is not None and old.mode == "120000"
    if was_link:
        yield call("bash", command=f"rm -f -- {_quote(path)}")
    if old is None or was_link or old.data != file.data:
        yield from _write(path, file.data)
    executable = old is not None and old.mode == "100755"
    if executable != (file.mode == "100755"):
        yield call("bash", command=f"chmod {'-x' if executable else '+x'} -- {_quote(path)}")


def _write(path: str, data: bytes) -> Iterator[str]:
    """One action where the content is text of a usual size; else pieces, through the shell."""
    text = _as_text(data)
    if text is not None:
        yield call("write", path=path, content=text)
        return
    name = _quote(path)
    yield call("bash", command=f"{_make_folder(path)} && : > {name}")
    encoded = base64.b64encode(data).decode()
    for start in range(0, len(encoded), _CHUNK):
        piece = encoded[start : start + _CHUNK]
        yield call("bash", command=f"base64 -d >> {name} <<'END'\n{piece}\nEND")


def _as_text(data: bytes) -> str | None:
    """The content of a ``write``, or None where it cannot be one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if len(text) <= _CHUNK and "\0" not in text else None


def _quote(path: str) -> str:
    """A path for the shell that no program takes for an option."""
    return shlex.quote(f"./{path}")


def _make_folder(path: str) -> str:
    return f"mkdir -p {_quote(str(PurePosixPath(path).parent))}"
