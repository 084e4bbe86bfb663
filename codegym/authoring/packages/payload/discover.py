"""Runs a suite as ``run_suite.py`` does, whose tests nobody knows yet.

Payload, like that file, beside which it is laid. It tells besides which test has begun, so that one
which never ends can be named; it ends the run where one test takes too long; and it can run tests
in reverse. Arguments: seconds that one test may take, and ``forwards`` or ``backwards``.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import sys
from typing import Any

import pytest


def _load(name: str) -> Any:
    """The script that lies beside this one; its folder is on no import path."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise SystemExit(f"no script: {place}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run what standard input asks for."""
    limit_sec, backwards = float(sys.argv[1]), sys.argv[2] == "backwards"
    run_suite = _load("run_suite")
    base: Any = run_suite.Reporter
    write, owner = os.write, os.getpid()

    class Reporter(base):  # type: ignore[misc]
        """Reports what has begun, too, and keeps an eye on the clock."""

        def pytest_configure(self, config: pytest.Config) -> None:
            """Have the order turned round when all other plug-ins have had their say."""
            if backwards:
                config.pluginmanager.register(Backwards())

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            """Begin a test. The clock needs no interpreter, so a loop in C is ended as well."""
            super().pytest_runtest_logstart(nodeid)
            if os.getpid() == owner:
                write(self._channel, json.dumps({"begun": nodeid}).encode() + b"\n")
                faulthandler.dump_traceback_later(limit_sec, exit=True, file=self._channel)

        def pytest_runtest_logfinish(self, nodeid: str) -> None:
            """End a test."""
            faulthandler.cancel_dump_traceback_later()
            super().pytest_runtest_logfinish(nodeid)

    run_suite.Reporter = Reporter
    run_suite.main()


class Backwards:
    """Turns the order of all tests round, within files, too."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """See pytest."""
        items.reverse()


if __name__ == "__main__":  # not where a test's child process imports it again
    main()
