"""Runners that can also try many edits in one build, each chosen while tests run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from codegym.grading.runners.programs import ProgramRunner, starting
from codegym.grading.runners.records import read_objects, script
from codegym.types import RunnerCommand


@dataclass(frozen=True, slots=True)
class Build:
    """What building files that hold many edits showed, untrusted.

    Attributes:
        well: Whether it went well.
        errors: Where errors are, as paths and lines.
        told: What the compiler said last.
    """

    well: bool
    errors: tuple[tuple[str, int], ...]
    told: str


@dataclass(frozen=True, slots=True)
class Try:
    """What trying one edit showed, untrusted.

    Attributes:
        ended: ``"ran"``, ``"timed_out"`` or ``"crashed"``.
        failed: Of the tests that pass without it, those that do not with it.
        passed: How many that reach it passed.
    """

    ended: str
    failed: frozenset[str]
    passed: int


@dataclass(frozen=True, slots=True)
class Tries:
    """What one session showed, untrusted.

    Attributes:
        edits: By the edit's number.
        unfit: Files, or tests, that do not pass where nothing is edited, to the reason.
    """

    edits: Mapping[int, Try] = field(default_factory=dict)
    unfit: Mapping[str, str] = field(default_factory=dict)


class SwitchedRunner(ProgramRunner):
    """A base of runners whose suites can be built with all edits at once."""

    #: Whether each test has a process of its own.
    apart: ClassVar[bool] = False
    #: Of other tools, too: the part inside knows all of them.
    _parts = ("switched.py", "switch.cjs", "reporter.mjs", "cargo.py", "node.py", "tap.py")

    def switcher(self) -> Mapping[str, bytes]:
        """Files that this needs besides ``payload()``."""
        names = (f"programs/{name}" for name in self._parts)
        return {f"/opt/runner/{name}": script(name) for name in names}

    def building(self, command: RunnerCommand, files: Iterable[str]) -> RunnerCommand:
        """The same command, building instead of running tests."""
        return self._asking(command, do="build", files=sorted(files))

    def trying(
        self, command: RunnerCommand, edits: Mapping[int, Iterable[int]], tests: Iterable[str]
    ) -> RunnerCommand:
        """The same command, trying edits.

        Args:
            command: What ``command`` gave.
            edits: Number of each edit, to the numbers of its functions.
            tests: Those that pass without any.
        """
        plain = {str(number): sorted(which) for number, which in edits.items()}
        return self._asking(command, do="try", edits=plain, tests=sorted(tests))

    def built(self, report: bytes) -> Build | None:
        """Read what building showed; None where that was not told."""
        for fields in read_objects(report):
            if isinstance(fields.get("built"), bool):
                found = fields.get("errors")
                errors = (
                    tuple(_place(one) for one in found if isinstance(one, list)) if found else ()
                )
                return Build(fields["built"], errors, str(fields.get("told", "")))
        return None

    def tried(self, report: bytes) -> Tries:
        """Read what trying showed. What cannot be read is left out."""
        edits: dict[int, Try] = {}
        unfit: dict[str, str] = {}
        for fields in read_objects(report):
            if isinstance(fields.get("unfit"), str):
                unfit[fields["unfit"]] = str(fields.get("why", ""))
            number, failed, passed = (fields.get(one) for one in ("edit", "failed", "passed"))
            if type(number) is int and isinstance(failed, list) and type(passed) is int:
                ids = frozenset(one for one in failed if isinstance(one, str))
                edits[number] = Try(str(fields.get("ended")), ids, passed)
        return Tries(edits, unfit)

    def _asking(self, command: RunnerCommand, **more: Any) -> RunnerCommand:
        request = json.loads(command.stdin) | {"tool": self.name} | more
        argv = (*command.argv[:-1], starting("switched"))
        return replace(command, argv=argv, stdin=json.dumps(request).encode())


def _place(found: Sequence[Any]) -> tuple[str, int]:
    match found:
        case [str(path), int(line)]:
            return path, line
    return "", 0
