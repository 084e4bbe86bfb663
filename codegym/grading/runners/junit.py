"""Runs any command that writes JUnit XML: jest, vitest, Maven, Gradle and many more.

The files leave the sandbox as they are and are read here: bounded, UTF-8, and none that declares a
document type, so that there is no entity to expand and nothing to fetch. They are read with the
standard library: a reader of JUnit files would hand them to whatever XML library is installed, with
settings of its own, and what is needed of them is one kind of element. The whole command is run, as
no such tool names its tests alike; only the tests that were asked for are kept.

Whatever the code under test wants can be written into such a file, or over it. So the assurance is
``report_only``. Held against it is that reports of before are removed, that the command's exit
status agrees with them, and that a name that is there twice is an error.
"""

from __future__ import annotations

import base64
import binascii
import xml.etree.ElementTree as ET
from typing import Any

from codegym.grading.runners.programs import ProgramRunner
from codegym.grading.runners.records import read_objects, read_records, record
from codegym.types import Outcome, TestOutcome

MAX_TESTS = 100_000
_WORST: tuple[tuple[str, Outcome], ...] = (
    ("error", "error"),
    ("failure", "failed"),
    ("skipped", "skipped"),
)


class JunitRunner(ProgramRunner):
    """The runner named ``junit``."""

    name = "junit"

    def parse(self, report: bytes) -> list[TestOutcome]:
        """See ``Runner``. A report that cannot be read fails all tests."""
        files: list[tuple[str, bytes]] = []
        for fields in read_objects(report):
            if isinstance(fields.get("xml"), str):
                files.append((str(fields.get("file", "")), _decoded(fields["xml"])))
            elif isinstance(fields.get("ids"), list):
                return _settled(files, fields)
        return read_records(report)  # it did not come to its end: what went wrong before it


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _settled(files: list[tuple[str, bytes]], end: dict[str, Any]) -> list[TestOutcome]:
    """The tests that were asked for, each once; or why there are none."""
    found: dict[str, TestOutcome] = {}
    asked, left = _texts(end["ids"]), _texts(end.get("deselect"))
    for name, data in files:
        try:
            cases = read_junit(data)
        except ValueError as error:
            return _broken(f"{name} cannot be read: {error}", end)
        for test in cases:
            if test.id in found:
                test = TestOutcome(test.id, "error", 0.0, "E   several tests have this name")
            found[test.id] = test
    bad = any(test.outcome in ("failed", "error") for test in found.values())
    if not found:
        return _broken("there is no report of any test", end)
    if end.get("status") != 0 and not bad:
        return _broken("no test failed, but the command did", end)
    return [
        test
        for test in found.values()
        if (not asked or test.id in asked) and not _is_among(test.id, left)
    ]


def _texts(value: object) -> frozenset[str]:
    listed = value if isinstance(value, list) else []
    return frozenset(one for one in listed if isinstance(one, str))


def _is_among(test_id: str, named: frozenset[str]) -> bool:
    """Whether a test is one of those named, or of a class or file that is."""
    return any(test_id == one or test_id.startswith(f"{one}::") for one in named)


def _broken(problem: str, end: dict[str, Any]) -> list[TestOutcome]:
    told = f"{end.get('tail', '')}\nE   {problem} ({end.get('how', '')})"
    made = record(".", "error", 0.0, told)
    return [made] if made else []


def read_junit(data: bytes) -> list[TestOutcome]:
    """Read one file: every ``testcase``, however suites are nested, as ``classname::name``.

    Raises:
        ValueError: It is no such file, or one that is not to be read.
    """
    text = data.decode("utf-8-sig")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("it declares a document type")
    try:
        root = ET.fromstring(text.encode())
    except (ET.ParseError, LookupError) as error:
        raise ValueError(str(error)) from error
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"its outermost element is {root.tag[:40]!r}")
    cases = list(root.iter("testcase"))
    if len(cases) > MAX_TESTS:
        raise ValueError(f"it has more than {MAX_TESTS} tests")
    return [test for case in cases if (test := _case(case)) is not None]


def _case(case: ET.Element) -> TestOutcome | None:
    name, group = case.get("name", ""), case.get("classname", "")
    told = [(outcome, part) for tag, outcome in _WORST for part in case.findall(tag)]
    outcome: Outcome = "passed"
    message = ""
    if told:
        outcome, part = told[0]
        body = (part.text or "").strip()
        raised = part.get("message", "").strip() or body.partition("\n")[0]
        marked = "\n".join(f"E   {line}".rstrip() for line in raised.splitlines())
        message = "" if outcome == "skipped" else f"{body}\n{marked}"
    return record(f"{group or '?'}::{name}", outcome, _number(case.get("time", "")), message)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
