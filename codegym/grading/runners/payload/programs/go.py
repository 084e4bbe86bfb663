"""Runs Go's tests, one package after the other, and reads the events of ``go test -json``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .driving import Ended, Report, Request, Test, files_of, frame, main, run, said

_FUNCTION = re.compile(r"^func (Test\w*|Example\w*|Fuzz\w*)\(", re.MULTILINE)
_ENV = {"GOFLAGS": "", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOWORK": "off"}
_OUTCOMES = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def is_test(path: str) -> bool:
    """Whether a file in a selected folder has tests, by Go's rule."""
    return path.endswith("_test.go")


def tool(report: Report) -> None:
    """Run each package that has a file of tests that is asked for."""
    packages: dict[str, dict[str, str]] = {}
    for path in files_of(report.request, is_test):
        functions = packages.setdefault(os.path.dirname(path) or ".", {})
        with open(path, encoding="utf-8", errors="replace") as file:
            functions |= dict.fromkeys(_FUNCTION.findall(file.read()), path)
    for package, functions in packages.items():
        _package(report, package, functions)


def _package(report: Report, package: str, functions: dict[str, str]) -> None:
    request = report.request
    wanted = sorted(set(_wanted(request, functions)))
    if not wanted:
        return
    chosen = f"-run=^({'|'.join(wanted)})$"
    argv = ["go", "test", "-json", "-count=1", "-vet=off", chosen, f"./{package}"]
    ended = run(argv, request.root, _ENV)
    tests, problem = _read(request, ended)
    by_file: dict[str, list[tuple[str, Test]]] = {}
    for name, test in tests.items():
        path = functions.get(name.partition("/")[0])
        if path is not None:
            by_file.setdefault(path, []).append((name, test))
    for path in dict.fromkeys(functions[name] for name in wanted):
        if problem:
            report.broken(path, problem)
        else:
            report.file(path, by_file.get(path, []))


def _wanted(request: Request, functions: dict[str, str]) -> Iterable[str]:
    if not request.ids:
        return functions
    return (
        name
        for name, path in functions.items()
        if any(one.startswith((f"{path}::{name}/", f"{path}::{name}\0")) for one in _ended(request))
    )


def _ended(request: Request) -> Iterator[str]:
    """Ids with a mark at their ends, so that one name is no beginning of another."""
    return (f"{one}\0" for one in request.ids)


def _read(request: Request, ended: Ended) -> tuple[dict[str, Test], str]:
    """Outcomes by name, and why they do not count, or ``""``."""
    tests: dict[str, Test] = {}
    printed: dict[str, list[str]] = {}
    package = ""
    for event in _events(ended.out):
        name, action = str(event.get("Test", "")), str(event.get("Action"))
        if action == "output":
            printed.setdefault(name, []).append(str(event.get("Output", "")))
        elif not name:
            package = action
        elif action in _OUTCOMES:
            outcome = "error" if name in tests else _OUTCOMES[action]
            message = _message(request, printed.get(name, [])) if outcome == "failed" else ""
            tests[name] = Test(outcome, float(event.get("Elapsed") or 0.0), message)
    failed = any(test.outcome in ("failed", "error") for test in tests.values())
    if (package, ended.status) == ("pass", 0) and not failed and tests:
        return tests, ""
    if (package, ended.status) == ("fail", 1) and failed:
        return tests, ""
    told = "".join(printed.get("", [])).strip() or ended.tail
    return {}, f"{told}\n" + said(f"the package's tests did not run as they should: {ended.how}")


def _events(out: str) -> Iterator[dict[str, Any]]:
    for line in out.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _message(request: Request, printed: list[str]) -> str:
    """What a test printed, without the runner's own lines."""
    text = "".join(one for one in printed if not re.match(r"\s*(?:---|===) ", one))
    return f"{frame(request.root, text)}in a test\n{said(text.strip() or 'it failed')}"


def start() -> None:
    """Run."""
    main(tool)
