"""Each claim of the threat model names a test, and that test is there."""

import ast
import re
from pathlib import Path

import pytest

from codegym.sandbox.conformance import CHECKS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/pages/concepts/threat-model.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[(\w+)\])?`")
CLAIMS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:-1]


def test_the_page_says_what_is_impossible_refused_detected_and_what_remains():
    heads = [part.split()[0] for part in re.findall(r"^## (.*)", PAGE, re.MULTILINE)]
    assert heads == ["Impossible:", "Refused:", "Only", "A", "A", "What"]
    assert len(NAMED.findall(PAGE)) >= 25


def _rows() -> list[str]:
    lines = [line for part in CLAIMS for line in part.splitlines() if line.startswith("| ")]
    return [line for line in lines if "shown by" not in line]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row.split(" | ")[0].strip("| ")[:50])
def test_each_claim_names_a_test(row):
    assert NAMED.search(row.split(" | ")[-1])


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE))), ids="::".join)
def test_each_named_test_is_there(named):
    path, name, check = named
    nodes = ast.parse((ROOT / path).read_text()).body
    found = [node for node in nodes if getattr(node, "name", "") == name]
    assert len(found) == 1
    assert name.startswith("test_")
    assert not check or check in CHECKS
