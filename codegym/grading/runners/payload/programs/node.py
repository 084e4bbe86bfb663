"""Runs node's test runner: one process for each file, whose results come by a pipe of its own."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .driving import Ended, Limit, Report, Request, Test, files_of, frame, main, run, said

REPORTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reporter.mjs")
MAX_EVENTS = 64 << 20
_SUFFIX = r"\.(?:[cm]?[jt]s)"
_NAMED = re.compile(rf"(?:.*[._-]test|.*[._-]spec|test|test-.*){_SUFFIX}")
_ANY = re.compile(rf".*{_SUFFIX}")
#: Why node calls a test failed, where the test itself did not fail.
_NOT_ITS_OWN = frozenset({"cancelledByParent", "hookFailed", "parentAlreadyFinished"})


def is_test(path: str) -> bool:
    """Whether a file in a selected folder has tests, by node's own rules."""
    *folders, name = path.split("/")
    inside = "test" in folders and _ANY.fullmatch(name) is not None
    return _NAMED.fullmatch(name) is not None or inside


def tool(report: Report) -> None:
    """Run each file."""
    for path in files_of(report.request, is_test):
        tests, ended, problem = run_file(report.request, path)
        if problem:
            report.broken(path, f"{ended.tail}\n" + said(problem))
        else:
            report.file(path, tests)


def run_file(
    request: Request,
    path: str,
    env: Mapping[str, str] | None = None,
    limit: Limit | None = None,
    *options: str,
) -> tuple[list[tuple[str, Test]], Ended, str]:
    """Run one file: its tests, how it ended, and why they do not count, or ``""``."""
    ended, told = _run(request, path, env, limit, options)
    tests = [(name, test) for _, name, test in _tests(request, told)]
    return tests, ended, _problem(ended, told, [test for _, test in tests])


def run_together(
    request: Request,
    paths: Sequence[str],
    env: Mapping[str, str] | None = None,
    limit: Limit | None = None,
    *options: str,
) -> tuple[list[tuple[str, Test]], Ended, str]:
    """Run several files in one process, where that is good enough; tests by their ids."""
    with tempfile.NamedTemporaryFile("w", suffix=".mjs") as entry:
        for path in paths:
            entry.write(f"await import({json.dumps(os.path.join(request.root, path))});\n")
        entry.flush()
        ended, told = _run(request, entry.name, env, limit, options)
    found = list(_tests(request, told))
    tests = [(f"{os.path.relpath(file, request.root)}::{name}", test) for file, name, test in found]
    return tests, ended, _problem(ended, told, [test for _, test in tests])


def _run(
    request: Request,
    path: str,
    env: Mapping[str, str] | None,
    limit: Limit | None,
    options: Sequence[str],
) -> tuple[Ended, list[dict[str, Any]]]:
    """Run a file; what it reports comes by a file of its own that has no name."""
    events = os.memfd_create("events")
    try:
        argv = ["node", f"--test-reporter={REPORTER}", *options]
        argv += [f"--test-reporter-destination=/proc/self/fd/{events}", path]
        clean = {"NODE_OPTIONS": "", "NODE_TEST_CONTEXT": "", **(env or {})}
        ended = run(argv, request.root, clean, (events,), limit)
        with open(events, "rb", closefd=False) as file:
            file.seek(0)
            return ended, list(_events(file.read(MAX_EVENTS)))
    finally:
        os.close(events)


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _problem(ended: Ended, events: list[dict[str, Any]], tests: list[Test]) -> str:
    """Why a file's results do not count, or ``""``: its end and its status have to agree."""
    if [event for event in events if event.get("type") == "end"] != events[-1:]:
        return f"the file's tests did not come to their end: {ended.how}"
    if not tests:
        return f"the file has no test: {ended.how}"
    bad = any(test.outcome in ("failed", "error") for test in tests)
    if (ended.status == 0) == bad or ended.status not in (0, 1):
        return f"its tests say otherwise, but {ended.how}"
    return ""


def _tests(request: Request, events: list[dict[str, Any]]) -> Iterator[tuple[str, str, Test]]:
    """Files; names, from the outermost suite inwards; and outcomes."""
    stack: list[str] = []
    file = ""
    for event in events:
        depth, name = event.get("depth"), event.get("name")
        if not isinstance(depth, int) or not isinstance(name, str) or depth > len(stack):
            continue
        if event["type"] == "start":
            stack[depth:] = [name]
            file = file if depth else str(event.get("file"))
        elif event["type"] in ("pass", "fail"):
            test = _test(request, event)
            if test is not None:
                yield file, "::".join((*stack[:depth], name)), test


def _test(request: Request, event: dict[str, Any]) -> Test | None:
    """What became of a test; None for a suite, which only has those of its tests."""
    seconds = float(event.get("ms") or 0.0) / 1000
    kind, error = str(event.get("failure", "")), str(event.get("error", ""))
    if event.get("suite") and (event["type"] == "pass" or kind == "subtestsFailed"):
        return None
    if event.get("skip") or event.get("todo"):
        return Test("skipped", seconds)
    if event["type"] == "pass":
        return Test("passed", seconds)
    where = frame(request.root, str(event.get("stack", "")))
    outcome = "error" if kind in _NOT_ITS_OWN or event.get("suite") else "failed"
    return Test(outcome, seconds, f"{where}in a test\n{said(error)}")


def start() -> None:
    """Run."""
    main(tool)
