"""Runs pytest suites.

The interpreter is absolute and isolated from the working directory (``-P``), pytest is imported
before the workspace is on the import path, plug-ins are not loaded by themselves, and the
configuration is the suite's. What code under test can still do, and observation is to end, is to
change pytest from within its process and to write to the report: so the assurance is
``report_only``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from codegym.grading.observe.evidence import read_evidence
from codegym.grading.runners.forked import read_bytecode, read_session, request_of
from codegym.grading.runners.lines import read_lines, read_starters
from codegym.grading.runners.records import read_records, script
from codegym.types import (
    WORKSPACE,
    Assurance,
    Evidence,
    Manner,
    RunnerCommand,
    Session,
    TestOutcome,
    Work,
)

SCRIPT = "/opt/runner/run_suite.py"
RECORDER = "/opt/runner/record_lines.py"
FORKER = ("swap_code.py", "fork_mutants.py")
KEEPER, BYTECODE = "/opt/runner/keep_bytecode.py", "/opt/runner/bytecode.json"
OBSERVER = ("reading.py", "library.py", "canonical.py", "observer.py")
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
        return {SCRIPT: script("run_suite.py")}

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
        return read_records(report)

    def recorder(self) -> Mapping[str, bytes]:
        """See ``RecordingRunner``."""
        return {RECORDER: script("record_lines.py")}

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

    def forker(self) -> Mapping[str, bytes]:
        """See ``ForkingRunner``."""
        return {f"/opt/runner/{name}": script(name) for name in FORKER}

    def forking(self, command: RunnerCommand, work: Work) -> RunnerCommand:
        """See ``ForkingRunner``."""
        asked = {"ids": list(work.tests), "brief": True, "work": request_of(work)}
        return replace(command, stdin=json.dumps(json.loads(command.stdin) | asked).encode())

    def session(self, report: bytes, work: Work) -> Session:
        """See ``ForkingRunner``."""
        return read_session(report, work.tests)

    def laid(self, manner: Manner) -> Mapping[str, bytes]:
        """See ``VaryingRunner``."""
        if not (manner.compiling or manner.bytecode):
            return {}
        kept = {BYTECODE: manner.bytecode} if manner.bytecode else {}
        return {KEEPER: script("keep_bytecode.py"), **kept}

    def varied(self, command: RunnerCommand, manner: Manner) -> RunnerCommand:
        """See ``VaryingRunner``."""
        asked: dict[str, Any] = {"reverse": manner.reverse, "brief": manner.brief}
        if manner.bytecode:
            asked["changed"] = list(manner.changed)
        if manner.compiling:
            asked["compile"] = True
        if manner.all_or_nothing:
            asked["all_or_nothing"] = True
        env = {**command.env, "PYTHONHASHSEED": str(manner.hash_seed)}
        stdin = json.dumps(json.loads(command.stdin) | asked).encode()
        return replace(command, env=env, stdin=stdin)

    def bytecode(self, report: bytes) -> bytes:
        """See ``VaryingRunner``."""
        return read_bytecode(report)

    def observer(self) -> Mapping[str, bytes]:
        """See ``ObservingRunner``."""
        return {f"/opt/runner/{name}": script(name) for name in OBSERVER}

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
