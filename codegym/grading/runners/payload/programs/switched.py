"""Builds files that hold many edits once, then runs the tests that reach each edit.

The request has besides the usual: ``tool``; ``do``: ``"build"`` or ``"try"``; ``files``, those that
hold edits; ``edits``: number to the numbers of its functions; ``tests`` that pass without any.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from . import cargo, node, tap
from .driving import Ended, Limit, Report, Request, Test, ask, files_of, request_of, run

_PATIENCE, _GRACE_CPU_SEC, _GRACE_WALL_SEC = 5.0, 1, 20.0
_C_ERROR = re.compile(r"^([^\s:]+):(\d+):(?:\d+:)? (?:fatal )?error: ", re.MULTILINE)
_SCRIPT_ERROR = re.compile(r"^(?:file://)?(/\S+):(\d+)$", re.MULTILINE)
_Ran = tuple[list[tuple[str, Test]], Ended, str]


class Tool(Protocol):
    """How one kind of suite is built and run, in parts: files, or tests where that is cheap."""

    def build(self, files: list[str]) -> tuple[bool, list[tuple[str, int]], str]:
        """Build; whether that went well, where errors are (paths and lines), and what was said."""

    def parts(self) -> list[str]:
        """What can be run by itself."""

    def together(self, parts: Iterable[str]) -> list[list[str]]:
        """Parts that are run in one process each."""

    def run(self, parts: list[str], env: Mapping[str, str], limit: Limit | None) -> _Ran:
        """Run some that belong together; tests are named by their ids."""


@dataclass
class _Files:
    """What is run by files has one process for each."""

    request: Request

    def together(self, parts: Iterable[str]) -> list[list[str]]:
        return [[one] for one in parts]


@dataclass
class _Node(_Files):
    """Starting takes longer than the tests: so files share a process."""

    def build(self, files: list[str]) -> tuple[bool, list[tuple[str, int]], str]:
        errors, well, told = [], True, ""
        for path in files:
            ended = run(["node", "--check", path], self.request.root)
            if ended.status != 0:
                well, told = False, ended.tail
                errors += _places(self.request, _SCRIPT_ERROR, ended.err)[:1]
        return well, errors, told

    def parts(self) -> list[str]:
        return list(files_of(self.request, node.is_test))

    def together(self, parts: Iterable[str]) -> list[list[str]]:
        every = list(parts)
        return [every] if every else []

    def run(self, parts: list[str], env: Mapping[str, str], limit: Limit | None) -> _Ran:
        preload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "switch.cjs")
        return node.run_together(self.request, parts, env, limit, "-r", preload)


class _Tap(_Files):
    def build(self, files: list[str]) -> tuple[bool, list[tuple[str, int]], str]:
        for command in self.request.build:
            ended = run(command, self.request.root)
            if ended.status != 0:
                return False, _places(self.request, _C_ERROR, ended.err), ended.tail
        return True, [], ""

    def parts(self) -> list[str]:
        return tap.programs(self.request)

    def run(self, parts: list[str], env: Mapping[str, str], limit: Limit | None) -> _Ran:
        tests, ended, problem = tap.run_file(self.request, parts[0], env, limit)
        return _named(parts[0], tests), ended, problem


class _Cargo:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._programs: dict[str, cargo.Program] = {}

    def build(self, files: list[str]) -> tuple[bool, list[tuple[str, int]], str]:
        ended, messages = cargo.build(self._request, {"RUSTFLAGS": "--cap-lints=allow"})
        errors = [
            (os.path.normpath(str(span["file_name"])), int(span["line_start"]))
            for told in cargo.errors_of(messages)
            for span in told.get("spans", ())
            if span.get("is_primary")
        ]
        return ended.status == 0, errors, ended.tail

    def parts(self) -> list[str]:
        _, messages = cargo.build(self._request, {"RUSTFLAGS": "--cap-lints=allow"})
        found = []
        for program in cargo.programs_of(self._request, messages):
            if self._request.wants_file(program.path):
                self._programs[program.path] = program
                found += [f"{program.path}::{name}" for name in cargo.listed(program)]
        return found

    def together(self, parts: Iterable[str]) -> list[list[str]]:
        by_file: dict[str, list[str]] = {}
        for one in parts:
            by_file.setdefault(one.partition("::")[0], []).append(one)
        return list(by_file.values())

    def run(self, parts: list[str], env: Mapping[str, str], limit: Limit | None) -> _Ran:
        path = parts[0].partition("::")[0]
        names = [one.partition("::")[2] for one in parts]
        tests, ended, problem = cargo.run_tests(self._programs[path], names, env, limit)
        return _named(path, tests), ended, problem


_TOOLS: Mapping[str, type[_Node] | type[_Tap] | type[_Cargo]] = {
    "cargo": _Cargo,
    "node": _Node,
    "tap": _Tap,
}


def _named(path: str, tests: list[tuple[str, Test]]) -> list[tuple[str, Test]]:
    return [(f"{path}::{name}", test) for name, test in tests]


def _places(request: Request, pattern: re.Pattern[str], text: str) -> list[tuple[str, int]]:
    root = request.root
    return [
        (os.path.relpath(os.path.join(root, path), root), int(line))
        for path, line in pattern.findall(text)
    ]


class _Trial:
    """Tries edits, each with the parts that reach a function of it."""

    def __init__(self, tool: Tool, report: Report, tests: Iterable[str]) -> None:
        self._tool, self._report, self._tests = tool, report, frozenset(tests)
        self._reached: dict[str, frozenset[int]] = {}
        self._seconds: dict[str, float] = {}

    def survey(self, part: str) -> None:
        """Run a part without any edit: what it reaches, and whether its tests pass as they did."""
        with tempfile.NamedTemporaryFile() as file:
            tests, ended, problem = self._tool.run([part], {"CODEGYM_REACH": file.name}, None)
            reached = frozenset(int(one) for one in file.read().split() if one.isdigit())
        passing = {name for name, test in tests if test.outcome == "passed"}
        known = {one for one in self._tests if one == part or one.startswith(f"{part}::")}
        if problem or not known <= passing:
            self._report.raw({"unfit": part, "why": problem or "its tests do not pass"})
        elif known:
            self._reached[part], self._seconds[part] = reached, ended.seconds

    def look(self, number: int, functions: frozenset[int]) -> None:
        """Try one edit, and say what its tests did."""
        parts = [part for part, reached in self._reached.items() if reached & functions]
        failed: set[str] = set()
        passed: set[str] = set()
        ended, seconds = "ran", 0.0
        for group in self._tool.together(parts):
            usual = sum(self._seconds[part] for part in group)
            limit = Limit(
                int(_PATIENCE * usual) + _GRACE_CPU_SEC, _PATIENCE * usual + _GRACE_WALL_SEC
            )
            tests, how, problem = self._tool.run(group, {"CODEGYM_MUTANT": str(number)}, limit)
            seconds += how.seconds
            if problem:
                ended = "timed_out" if how.late else "crashed"
                break
            for name, test in tests:
                if name in self._tests:
                    (passed if test.outcome == "passed" else failed).add(name)
        self._report.raw({
            "edit": number,
            "ended": ended,
            "failed": sorted(failed),
            "passed": len(passed),
            "seconds": round(seconds, 4),
        })  # fmt: skip


def start() -> None:
    """Run."""
    asked = ask()
    request = request_of(asked)
    report = Report(request)
    tool: Tool = _TOOLS[asked["tool"]](request)
    if asked["do"] == "build":
        well, errors, told = tool.build(asked["files"])
        report.raw({"built": well, "errors": errors, "told": told})
    else:
        _try(asked, tool, report)
    sys.exit(0)


def _try(asked: Mapping[str, Any], tool: Tool, report: Report) -> None:
    trial = _Trial(tool, report, asked["tests"])
    edits = {int(one): frozenset(which) for one, which in asked["edits"].items()}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(trial.survey, tool.parts()))
        list(pool.map(lambda one: trial.look(*one), edits.items()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    report.raw({"cpu_sec": round(used.ru_utime + used.ru_stime, 3)})
