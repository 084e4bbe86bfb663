"""Runs pytest suites.

The interpreter is absolute and isolated from the working directory (``-P``), pytest is imported
before the workspace is on the import path, plug-ins are not loaded by themselves, and the
configuration is the suite's. What code under test can still do, and observation is to end, is to
change pytest from within its process and to write to the report: so the assurance is
``report_only``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast, get_args

from codegym.grading.observe.evidence import read_evidence
from codegym.grading.runners.lines import read_lines, read_starters
from codegym.types import WORKSPACE, Assurance, Evidence, Outcome, RunnerCommand, TestOutcome

SCRIPT = "/opt/runner/run_suite.py"
RECORDER = "/opt/runner/record_lines.py"
OBSERVER = ("reading.py", "library.py", "canonical.py", "observer.py")
MAX_ID_CHARS = 2000
MAX_MESSAGE_CHARS = 4000
_OUTCOMES = frozenset(get_args(Outcome)) - {"missing"}
_ENV = {
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": "",
    "PYTHONSTARTUP": "",
}


class PytestRunner:
    """The runner named ``pytest``; works with pytest 7 and later."""

    name = "pytest"
    assurance: Assurance = "report_only"

    def payload(self) -> Mapping[str, bytes]:
        """The script that runs inside."""
        return {SCRIPT: _script("run_suite.py")}

    def command(
        self,
        ids: Sequence[str],
        channel: int,
        *,
        python: str,
        import_paths: Sequence[str],
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        config: Sequence[str] = (),
        root: str = WORKSPACE,
    ) -> RunnerCommand:
        """See ``Runner``. The request goes in by standard input: no id is too long or too odd."""
        request = {
            "ids": list(ids),
            "select": list(select),
            "deselect": list(deselect),
            "import_paths": list(import_paths),
            "config": list(config),
            "root": root,
            "channel": channel,
        }
        argv = (python, "-P", "-s", "-B", SCRIPT)
        return RunnerCommand(argv, _ENV, json.dumps(request).encode())

    def parse(self, report: bytes) -> list[TestOutcome]:
        """See ``Runner``. A line that is no record of a test is left out."""
        records = (_record(line) for line in report.split(b"\n") if line)
        return [record for record in records if record is not None]

    def recorder(self) -> Mapping[str, bytes]:
        """See ``RecordingRunner``."""
        return {RECORDER: _script("record_lines.py")}

    def recording(self, command: RunnerCommand, files: Sequence[str]) -> RunnerCommand:
        """See ``RecordingRunner``."""
        request = json.loads(command.stdin) | {"record": list(files)}
        return replace(command, stdin=json.dumps(request).encode())

    def lines(self, report: bytes) -> Mapping[str, Mapping[str, frozenset[int]]]:
        """See ``RecordingRunner``. A test that is reported twice has the lines of both."""
        return read_lines(report)

    def starters(self, report: bytes) -> frozenset[str]:
        """See ``RecordingRunner``."""
        return read_starters(report)

    def observer(self) -> Mapping[str, bytes]:
        """See ``ObservingRunner``."""
        return {f"/opt/runner/{name}": _script(name) for name in OBSERVER}

    def observing(
        self,
        command: RunnerCommand,
        keys: Sequence[str],
        *,
        limited: Sequence[str] = (),
        limit_sec: float = 5.0,
        collect: bool = False,
        projections: Mapping[str, Sequence[str]] = MappingProxyType({}),
        brief: bool = False,
    ) -> RunnerCommand:
        """See ``ObservingRunner``. What it asks for holds no node id."""
        asked = {"ids": [], "keys": list(keys), "nodes": collect, "brief": brief}
        asked |= {"limited": list(limited), "limit_sec": limit_sec}
        asked |= {"projections": {name: list(each) for name, each in projections.items()}}
        return replace(command, stdin=json.dumps(json.loads(command.stdin) | asked).encode())

    def evidence(self, report: bytes) -> Evidence:
        """See ``ObservingRunner``."""
        return read_evidence(report)


@cache
def _script(name: str) -> bytes:
    """A payload's text."""
    return (Path(__file__).parent / "payload" / name).read_bytes()


def _record(line: bytes) -> TestOutcome | None:
    """One line of the report, or None where it is not one."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    test_id, outcome = fields.get("id"), fields.get("outcome")
    if not isinstance(test_id, str) or not isinstance(outcome, str) or outcome not in _OUTCOMES:
        return None
    if len(test_id) > MAX_ID_CHARS or _printable(test_id) != test_id:
        return None
    message = fields.get("message", "")
    text = _printable(message[-MAX_MESSAGE_CHARS:]) if isinstance(message, str) else ""
    return TestOutcome(test_id, cast("Outcome", outcome), _seconds(fields.get("seconds")), text)


def _printable(text: str) -> str:
    """Text that can be encoded: lone surrogates, which JSON can spell, are replaced."""
    return text.encode("utf-8", "replace").decode()


def _seconds(value: Any) -> float:
    """A duration that is one; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) if 0 <= value < 1e9 and math.isfinite(value) else 0.0
