"""Reports what tests see at the sites of their assertions.

Payload, loaded by ``run_suite`` where tests are observed. Rewritten tests import ``face()`` under
the name ``_cg_observer``. It knows no expected value but those that a recording gives it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from codegym.grading.runners.payload.canonical import encode
else:
    from _cg_canonical import encode

#: What one test, and all together, may say; the rest goes unsaid. In characters.
MAX_TEST_CHARS = 1 << 20
MAX_CHARS = 32 << 20
NODE_CHARS = 32  # of a sighting, besides its value

_write, _dumps, _pid = os.write, json.JSONEncoder().encode, os.getpid
_CASE = type(pytest.param())
# These say how a test ends, so no assertion is about them.
_FAILURES = (Exception, SystemExit, pytest.fail.Exception)
_ENDINGS = (pytest.skip.Exception, pytest.fail.Exception, pytest.exit.Exception)


class Observer:
    """A pytest plug-in. What is seen in a test is written at its end, in one piece.

    A test that never ends, or a child that it forked, therefore says nothing.

    Args:
        channel: The descriptor to write to.
        names: What tests are called in the report, by node id; filled by another.
        nodes: Whether to report node ids.
    """

    def __init__(self, channel: int, names: dict[str, str], nodes: bool) -> None:
        self._channel, self._names, self._nodes, self._owner = channel, names, nodes, _pid()
        self._seen: list[str] | None = None
        self._left, self._total = 0, MAX_CHARS

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say which test is which."""
        if self._nodes:
            named = ((self._names.get(item.nodeid), item.nodeid) for item in session.items)
            self._send([_dumps({"k": key, "node": node}) for key, node in named])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        self._seen, self._left = [], min(MAX_TEST_CHARS, self._total)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """End a test."""
        head = '{"k":' + _dumps(self._names.get(nodeid, nodeid)) + ","
        lines = [head + line for line in self._seen or ()]
        self._total -= sum(map(len, lines))
        self._seen = None
        self._send(lines)

    def saw(self, site: int, value: Any) -> Any:
        """The actual side has this value; gives it back."""
        self._note(site, "a", value)
        return value

    def meant(self, site: int, value: Any) -> Any:
        """The expected side has this value; gives it back."""
        self._note(site, "e", value)
        return value

    def raises(
        self, site: int, context: Any, expected: Any, match: Any = None
    ) -> AbstractContextManager[Any]:
        """A context that asserts as ``context`` does, and says what was raised and meant."""
        return Watched(context, lambda raised: self._both(site, raised, (expected, match)))

    def raised(self, site: int) -> AbstractContextManager[Any]:
        """A context that catches what its body raises, and says what it was, or None."""
        return Caught(lambda raised: self._raised(site, raised))

    def rows(self, size: int | None, make: Callable[[], Iterable[Any]]) -> list[Any]:
        """The cases of a copy of a test; none where they cannot be made, or have another size."""
        with contextlib.suppress(Exception):
            made = list(make())
            cells = (row.values if isinstance(row, _CASE) else row for row in made)
            if size is None or all(len(row) == size for row in cells):
                return made
        return []

    def face(self) -> ModuleType:
        """What tests import."""
        module = ModuleType("_cg_observer")
        for name in ("saw", "meant", "raises", "raised", "rows"):
            setattr(module, name, getattr(self, name))
        vars(module)["onward"] = Onward
        return module

    def _both(self, site: int, raised: BaseException | None, expected: Any) -> None:
        self._raised(site, raised)
        self._note(site, "e", expected)

    def _raised(self, site: int, raised: BaseException | None) -> None:
        text = None
        if self._seen is not None and raised is not None:
            with contextlib.suppress(BaseException):  # its class is anyone's
                text = "\n".join([str(raised), *getattr(raised, "__notes__", ())])
        self._note(site, "a", raised, text)

    def _note(self, site: int, role: str, value: Any, text: str | None = None) -> None:
        if self._seen is None or self._left <= 0:
            return
        line = f'"s":{site},"r":"{role}","v":{encode(value, text)}}}'
        self._left -= len(line) + NODE_CHARS
        if self._left > 0:
            self._seen.append(line)

    def _send(self, lines: list[str]) -> None:
        if not lines or _pid() != self._owner:
            return
        data = "\n".join([*lines, ""]).encode()
        while data:
            data = data[_write(self._channel, data) :]


class Watched:
    """A context manager around another, that hears what was raised in it."""

    def __init__(self, context: Any, hear: Callable[[BaseException | None], None]) -> None:
        self._context, self._hear = context, hear

    def __enter__(self) -> Any:
        return self._context.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._hear(value)
        result: bool | None = self._context.__exit__(kind, value, trace)
        return result


class Onward:
    """A context manager that goes on after what is raised in it; around all others, it fails then.

    Only where unsolved code is looked at, by the gym: see ``insisting``.
    """

    def __init__(self) -> None:
        self._depth, self._failed, self._asserted = 0, False, False

    def __enter__(self) -> Onward:
        self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._depth -= 1
        stopped = isinstance(value, pytest.fail.Exception) and not value.pytrace  # it took too long
        if kind is not None and (stopped or not issubclass(kind, _FAILURES)):
            return False
        self._failed |= kind is not None
        self._asserted |= isinstance(value, (AssertionError, pytest.fail.Exception))
        if self._failed and not self._depth:
            pytest.fail(f"it went on past {'an assertion' if self._asserted else 'an error'}")
        return True


class Caught:
    """A context manager like that of ``pytest.raises``, that accepts whatever is raised."""

    def __init__(self, hear: Callable[[BaseException | None], None]) -> None:
        self._hear = hear
        self._info: Any = pytest.ExceptionInfo.for_later()

    def __enter__(self) -> Any:
        return self._info

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if kind is not None and issubclass(kind, _ENDINGS):
            return False
        self._hear(value)
        if value is not None:
            self._info.fill_unfilled((kind, value, trace))
            self._info.exception = value  # as unittest calls it
        return True
