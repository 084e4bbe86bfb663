"""What runners share whose tests are programs: one process drives them and writes the report.

That process is started like pytest's, isolated from the working directory, and runs no code of the
repository. Tests' processes have neither its descriptors nor, as it is not dumpable, a way to them.
The sandbox's shell holds the same pipe, and can be looked into; so each line of the report begins
with a mark that only that process is told.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from codegym.grading.runners.records import read_records, script
from codegym.types import WORKSPACE, Assurance, RunnerCommand, TestOutcome

_FOLDER = "/opt/runner/programs"
_START = "import sys; sys.path.insert(0, '/opt/runner'); from programs.{tool} import start; start()"


def starting(tool: str) -> str:
    """The program that starts a part of the package inside."""
    return _START.format(tool=tool)


_ENV = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


class ProgramRunner:
    """A base of runners; a subclass says which tool, and why its assurance is what it is."""

    name: str
    assurance: Assurance = "report_only"
    #: Files beside the package's own and the tool's.
    extra: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._build: tuple[str, ...] = ()
        self._command = ""
        self._reports: tuple[str, ...] = ()

    def configured(
        self, *, build: Sequence[str] = (), command: str = "", reports: Sequence[str] = ()
    ) -> Self:
        """See ``ConfiguredRunner``."""
        made = type(self)()
        made._build, made._command, made._reports = tuple(build), command, tuple(reports)
        return made

    def payload(self) -> Mapping[str, bytes]:
        """The package that runs inside, with this tool's part of it."""
        names = ("__init__.py", "driving.py", f"{self.name}.py", *self.extra)
        return {f"{_FOLDER}/{name}": script(f"programs/{name}") for name in names}

    def command(
        self,
        ids: Sequence[str],
        channel: int,
        *,
        python: str,
        import_paths: Sequence[str],  # noqa: ARG002 - other languages have none
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        config: Sequence[str] = (),  # noqa: ARG002 - the tools find it themselves
        root: str = WORKSPACE,
    ) -> RunnerCommand:
        """See ``Runner``."""
        mark = secrets.token_hex(16)
        request = {
            "mark": mark,
            "ids": list(ids),
            "select": list(select),
            "deselect": list(deselect),
            "root": root,
            "channel": channel,
            "build": self._build,
            "command": self._command,
            "reports": self._reports,
        }
        argv = (python, "-I", "-S", "-B", "-c", starting(self.name))
        return RunnerCommand(argv, _ENV, json.dumps(request).encode(), mark.encode())

    def parse(self, report: bytes) -> list[TestOutcome]:
        """See ``Runner``."""
        return read_records(report)
