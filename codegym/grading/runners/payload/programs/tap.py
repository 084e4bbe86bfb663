"""Runs programs that print the Test Anything Protocol."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping

from .driving import Ended, Limit, Report, Request, Test, files_of, frame, main, run, said

_PLAN = re.compile(r"1\.\.(\d+)\s*(?:#.*)?")
_LINE = re.compile(r"(not )?ok\b(?: +(\d+))?(?: +-)?(?: +(.*?))?\s*")
_DIRECTIVE = re.compile(r"(?:^|\s)#\s*(skip|todo)\b.*", re.IGNORECASE)


def is_test(path: str) -> bool:
    """Whether a file in a selected folder has tests, by its name."""
    stem = path.rpartition("/")[2].partition(".")[0].lower()
    return stem.startswith("test") or stem.endswith(("test", "tests", "spec"))


def tool(report: Report) -> None:
    """Run the command: for each file, or once."""
    for path in programs(report.request):
        tests, ended, problem = run_file(report.request, path)
        if problem:
            report.broken(path, f"{ended.tail}\n" + said(problem, ended.how))
        else:
            report.file(path, tests)


def programs(request: Request) -> list[str]:
    """What has tests: files; or, where the command runs all of them, the first entry."""
    if "{file}" in request.command or "{stem}" in request.command:
        return list(files_of(request, is_test))
    return [request.select[0].rstrip("/")]


def run_file(
    request: Request,
    path: str,
    env: Mapping[str, str] | None = None,
    limit: Limit | None = None,
) -> tuple[list[tuple[str, Test]], Ended, str]:
    """Run the program of one file: its tests, how it ended, why they do not count, or ``""``."""
    stem = os.path.splitext(os.path.basename(path))[0]
    command = request.command.replace("{stem}", shlex.quote(stem))
    ended = run(command.replace("{file}", shlex.quote(path)), request.root, env, (), limit)
    tests, problem = read(request.root, ended.out)
    return tests, ended, _contradiction(ended, [test for _, test in tests]) or problem


def _contradiction(ended: Ended, tests: list[Test]) -> str:
    """Programs of C's tests end with any status but 0 where a test failed; some always with 0."""
    if ended.overflowed or ended.killed:
        return "the program did not come to its end"
    passed = all(test.outcome in ("passed", "skipped") for test in tests)
    return "all its tests passed" if tests and passed and ended.status != 0 else ""


def read(root: str, text: str) -> tuple[list[tuple[str, Test]], str]:
    """Read TAP: names and outcomes in order, and what is wrong with it as a whole, or ``""``."""
    tests: list[tuple[str, Test]] = []
    notes: list[list[str]] = []
    plans: list[int] = []
    for line in text.splitlines():
        if line.startswith("Bail out!"):
            return [], line
        if plan := _PLAN.fullmatch(line):
            plans.append(int(plan[1]))
        elif found := _LINE.fullmatch(line):
            if found[2] is not None and int(found[2]) != len(tests) + 1:
                return [], f"test {found[2]} comes as number {len(tests) + 1}"
            tests.append(_test(found[1] is not None, found[3] or "", len(tests) + 1))
            notes.append([])
        elif notes and (line.startswith(("#", " ", "\t")) and line.strip()):
            notes[-1].append(line.strip("# \t"))
    if len(plans) != 1:
        return [], f"there are {len(plans)} plans" if plans else "there is no plan"
    if plans[0] != len(tests):
        return [], f"{plans[0]} tests were planned, and {len(tests)} were told"
    for (_, test), said_of_it in zip(tests, notes, strict=True):
        if test.outcome == "failed":
            told = "\n".join(said_of_it)
            test.message = f"{frame(root, told)}in a test\n{said(told or 'not ok')}"
    return tests, "" if tests else "there is no test"


def _test(failed: bool, described: str, number: int) -> tuple[str, Test]:
    directive = _DIRECTIVE.search(described)
    name = _DIRECTIVE.sub("", described).strip() or str(number)
    if directive:
        return name, Test("skipped")
    return name, Test("failed" if failed else "passed")


def start() -> None:
    """Run."""
    main(tool)
