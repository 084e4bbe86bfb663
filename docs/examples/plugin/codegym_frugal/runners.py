"""A runner: test functions without a test tool. Just enough for suites of plain functions."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegym.types import WORKSPACE, Assurance, RunnerCommand, TestOutcome

SCRIPT = "/opt/runner/run_plain.py"


class Plain:
    """Calls every function ``test_*`` that takes no argument."""

    name = "plain"
    assurance: Assurance = "report_only"

    def payload(self) -> Mapping[str, bytes]:
        """The program that runs inside the sandbox."""
        return {SCRIPT: Path(__file__).with_name("run_plain.py").read_bytes()}

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
        """Ask for exactly these tests, or for all in ``select``."""
        request = {
            "ids": list(ids),
            "select": list(select),
            "import_paths": list(import_paths),
            "root": root,
            "channel": channel,
        }
        argv = (python, "-P", "-s", "-B", SCRIPT)
        return RunnerCommand(argv, {"PYTHONHASHSEED": "0"}, json.dumps(request).encode())

    def parse(self, report: bytes) -> list[TestOutcome]:
        """Read the report. The code under test can write to it: believe nothing, never raise."""
        found = []
        for line in report.splitlines():
            try:
                test, passed, message = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if isinstance(test, str) and isinstance(passed, bool) and isinstance(message, str):
                outcome = "passed" if passed else "failed"
                found.append(TestOutcome(test, outcome, message=message[-2000:]))
        return found
