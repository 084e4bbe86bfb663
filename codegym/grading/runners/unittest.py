"""Runs unittest suites without pytest.

The interpreter is absolute and isolated from the working directory, and the standard library's
loader finds the tests, ``load_tests`` included. Code under test shares its process with the loader
and the result, and can write to the report: so the assurance is ``report_only``, as for pytest
without observation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from codegym.grading.runners.records import read_records, script
from codegym.types import WORKSPACE, Assurance, RunnerCommand, TestOutcome

SCRIPT = "/opt/runner/run_unittest.py"
_ENV = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": "",
    "PYTHONSTARTUP": "",
}


class UnittestRunner:
    """The runner named ``unittest``."""

    name = "unittest"
    assurance: Assurance = "report_only"

    def payload(self) -> Mapping[str, bytes]:
        """The script that runs inside."""
        return {SCRIPT: script("run_unittest.py")}

    def command(
        self,
        ids: Sequence[str],
        channel: int,
        *,
        python: str,
        import_paths: Sequence[str],
        select: Sequence[str] = (),
        deselect: Sequence[str] = (),
        config: Sequence[str] = (),  # noqa: ARG002 - unittest has none
        root: str = WORKSPACE,
    ) -> RunnerCommand:
        """See ``Runner``."""
        request = {
            "ids": list(ids),
            "select": list(select),
            "deselect": list(deselect),
            "import_paths": list(import_paths),
            "root": root,
            "channel": channel,
        }
        argv = (python, "-P", "-s", "-B", SCRIPT)
        return RunnerCommand(argv, _ENV, json.dumps(request).encode())

    def parse(self, report: bytes) -> list[TestOutcome]:
        """See ``Runner``."""
        return read_records(report)
