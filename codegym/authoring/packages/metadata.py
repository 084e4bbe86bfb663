"""What a source distribution says of itself, as text; nothing of it is run to find out."""

from __future__ import annotations

import email.parser
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Any

from codegym.errors import DataError, UsageError
from codegym.sandbox.images.lock import normalise
from codegym.types import Tree

TEST_EXTRAS = ("test", "tests", "testing")
_EXTRA = re.compile(
    r"""\s*(?:\band\b\s*)?\(?\s*extra\s*==\s*(['"])([\w.-]+)\1\s*\)?\s*(?:\band\b\s*)?"""
)
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[\w., -]*\])?[^@\n]*")
_SPDX_BY_CLASSIFIER = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")
_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|>|<)\s*(\d+(?:\.\d+)*(?:\.\*)?)")


@dataclass(frozen=True, slots=True)
class PackageInfo:
    """What a source distribution says.

    Attributes:
        name: As it is written there.
        version: Likewise.
        summary: One line.
        license: An SPDX expression; ``LicenseRef-…`` where what is said is none.
        python: A version specifier, ``">=3.11"`` where nothing is said.
        requires: What it needs to run.
        test_requires: What it says its tests need besides.
        text: The whole ``PKG-INFO``.
    """

    name: str
    version: str
    summary: str
    license: str
    python: str
    requires: tuple[str, ...]
    test_requires: tuple[str, ...]
    text: bytes


def read_info(tree: Tree, filename: str) -> PackageInfo:
    """Read ``PKG-INFO`` and, where that leaves it open, what lies beside it.

    Raises:
        DataError: There is none, or it lacks what every one has.
        UsageError: It needs something that is no package of an index.
    """
    file = tree.get("PKG-INFO")
    if file is None:
        raise DataError(filename, "has no PKG-INFO, so it is no source distribution")
    message = email.parser.BytesParser().parsebytes(file.data, headersonly=True)
    name, version = _field(message, "Name"), _field(message, "Version")
    if not name or not version:
        raise DataError(filename, "its PKG-INFO names no name and version")
    requires: list[str] = []
    for_tests: list[str] = []
    for each in _requirements(message, tree):
        plain, extra = _without_extra(each)
        if extra is None:
            requires.append(plain)
        elif extra in TEST_EXTRAS:
            for_tests.append(plain)
    for_tests += _groups(tree)
    for each in (*requires, *for_tests):
        if _REQUIREMENT.fullmatch(each) is None:
            raise UsageError(f"{filename} needs {each!r}, which is no package of an index")
    return PackageInfo(
        name=name,
        version=version,
        summary=" ".join(_field(message, "Summary").split()) or name,
        license=_license(message),
        python=python_specifier(_field(message, "Requires-Python")),
        requires=tuple(requires),
        test_requires=tuple(dict.fromkeys(for_tests)),
        text=file.data,
    )


def _field(message: Message, name: str) -> str:
    value = str(message.get(name, "")).strip()
    return "" if value == "UNKNOWN" else value


def _requirements(message: Message, tree: Tree) -> list[str]:
    """From ``PKG-INFO``, else from setuptools' own file, else from ``pyproject.toml``."""
    stated = [str(value) for value in message.get_all("Requires-Dist", [])]
    if stated:
        return stated
    for path, file in tree.items():
        if path.endswith(".egg-info/requires.txt"):
            return list(_from_setuptools(file.data.decode(errors="replace")))
    project = _pyproject(tree).get("project")
    listed = project.get("dependencies") if isinstance(project, dict) else None
    return [str(each) for each in listed] if isinstance(listed, list) else []


def _from_setuptools(text: str) -> Iterator[str]:
    """``requires.txt``: under headings ``[extra]``, ``[:marker]`` and ``[extra:marker]``."""
    marker = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("[") and line.endswith("]"):
            extra, _, condition = line[1:-1].partition(":")
            parts = [f"({condition})"] if condition else []
            marker = " and ".join([*parts, f"extra == '{extra}'"] if extra else parts)
        else:
            yield f"{line}; {marker}" if marker else line


def _without_extra(requirement: str) -> tuple[str, str | None]:
    """A requirement without the extra that it belongs to, and that extra."""
    plain, semicolon, marker = requirement.partition(";")
    found = _EXTRA.search(marker)
    if not semicolon or found is None:
        return requirement.strip(), None
    rest = (marker[: found.start()] + marker[found.end() :]).strip()
    return f"{plain.strip()}; {rest}" if rest else plain.strip(), normalise(found[2])


def _groups(tree: Tree) -> list[str]:
    """What ``[dependency-groups]`` lists for tests."""
    groups = _pyproject(tree).get("dependency-groups")
    if not isinstance(groups, dict):
        return []
    listed = [groups.get(name) for name in TEST_EXTRAS]
    return [
        each for one in listed if isinstance(one, list) for each in one if isinstance(each, str)
    ]


def _pyproject(tree: Tree) -> dict[str, Any]:
    file = tree.get("pyproject.toml")
    try:
        return tomllib.loads(file.data.decode()) if file else {}
    except ValueError:
        return {}


def _license(message: Message) -> str:
    stated = _field(message, "License-Expression") or _field(message, "License")
    if stated == "BSD" or not _SPDX.fullmatch(stated):
        for classifier in message.get_all("Classifier", []):
            known = _SPDX_BY_CLASSIFIER.get(str(classifier).rpartition(" :: ")[2])
            if known and str(classifier).startswith("License ::"):
                return known
    return license_expression(stated)


def license_expression(stated: str) -> str:
    """An SPDX expression of what is stated."""
    if stated != "BSD" and _SPDX.fullmatch(stated):
        return stated
    words = re.sub(r"[^A-Za-z0-9.]+", "-", stated.split("\n", maxsplit=1)[0][:40]).strip("-")
    return f"LicenseRef-{words or 'unknown'}"


def python_specifier(stated: str) -> str:
    """The clauses of a specifier that are understood; ``">=3.11"`` where there is none."""
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in stated.split(",")]
    read = [f"{found[1]}{found[2]}" for found in clauses if found]
    return ",".join(read) if read else ">=3.11"
