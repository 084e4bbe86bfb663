"""Which side comes from code under test."""

from __future__ import annotations

import textwrap

import pytest
from rewritten import module, shipped, sides

HEAD = """
import datetime, decimal, math, os, random, re, time, uuid
from collections import Counter, OrderedDict
from pathlib import Path
import pytest
import helpers
from . import near
from code_under_test import Box, double, fill, half, parse, LIMIT

NUMBERS = [1, 2]
TABLE = {"a": 1}
LENT = [3]
COUNT = 5
def pure(x):
    total = []
    for part in range(x):
        total.append(part + later(1))
    return total
def later(x): return x + 1
def impure(x): return double(x)
def changes(found): found.append(1)
def lends(): fill(LENT)
class Plain:
    def __init__(self, x): self.x = x
class Derived(Box): pass
"""


def _only(body: str, arguments: str = "") -> tuple[str, str, bool]:
    text = HEAD + f"def test_it({arguments}):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    (found,) = sides(text)
    return found


OWN = [
    "5", "'a' 'b'", "-1.5", "[1, (2, {3: b'x'})]", "COUNT", "NUMBERS", "TABLE['a']",
    "TABLE.get('a')",
    "len([1, 2])", "sorted({1, 2}, key=lambda n: -n)", "[n * 2 for n in range(3) if n]",
    "dict(a=1, **{'b': 2})", "list(map(str, [1, 2]))", "list(zip([1], [2]))", "'a,b'.split(',')",
    "datetime.date(2020, 1, 1) + datetime.timedelta(days=1)", "decimal.Decimal('1.5')", "math.pi",
    "Counter('abc')", "OrderedDict([(1, 2)])", "re.escape('a.b')", "Path('a') / 'b'",
    "f'{COUNT:>4}'",
    "uuid.UUID(int=5)", "pure(3)", "later(1)", "Plain(1)", "ValueError", "1 if COUNT else 2",
    "(not COUNT)",
]  # fmt: skip
FOREIGN = [
    "LIMIT", "Box(1)", "impure(3)", "[double(1)]", "open('x').read()", "time.time()", "os.getcwd()",
    "datetime.datetime.now()", "random.random()", "uuid.uuid4()", "helpers.value", "near.value",
    "unknown", "LENT", "Derived(1)", "changes([1])", "Path('a').read_text()", "input()",
    "[double(n) for n in NUMBERS]", "(lambda: double(1))()", "id(COUNT)", "os.environ['HOME']",
]  # fmt: skip


@pytest.mark.parametrize("expected", OWN)
def test_the_tests_own_values_can_be_taken_out(expected):
    assert _only(f"assert double(2) == {expected}")[1] == "one"


@pytest.mark.parametrize("expected", FOREIGN)
def test_what_may_come_from_code_under_test_or_the_world_is_both(expected):
    assert _only(f"assert double(2) == {expected}") == ("==", "both", False)


@pytest.mark.parametrize(
    "body",
    [
        "wanted = [1]\nassert parse('1') == wanted",
        "a, b = 1, [2]\nassert parse('2') == b",
        "wanted = []\nwanted.append(1)\nwanted += [2]\nassert parse('1,2') == wanted",
        "wanted = {}\nfor n in [1, 2]:\n    wanted[n] = n\nassert double(1) == wanted",
        "if COUNT > 3:\n    wanted = 1\nelse:\n    wanted = 2\nassert double(1) == wanted",
        "import json\nassert double('1') == json.dumps([1])",
        "def own(n): return n + 1\nassert double(1) == own(1)",
    ],
)
def test_local_values_made_of_the_tests_own_are_its_own(body):
    assert _only(body)[1] == "one"


@pytest.mark.parametrize(
    "body",
    [
        "wanted = double(1)\nassert half(4) == wanted",
        "wanted = [1]\nfill(wanted)\nassert half(4) == wanted",
        "wanted = [1]\nassert fill(wanted) == wanted",
        "inner = [1]\nwanted = [inner]\nfill(inner)\nassert half(4) == wanted",
        "inner = [1]\nwanted = []\nwanted.append(inner)\nfill(inner)\nassert half(4) == wanted",
        "inner = [1]\nwanted = {}\nwanted[1] = inner\nfill(wanted)\nassert half(4) == inner",
        "wanted = []\nfill(lambda: wanted.append(1))\nassert half(4) == wanted",
        "wanted = []\ndef note(): wanted.append(1)\nfill(note)\nassert half(4) == wanted",
        "wanted = []\nwanted.append(double(1))\nassert half(4) == wanted",
        "box = Box()\nwanted = [1]\nbox.items = wanted\nbox.push(2)\nassert half(4) == wanted",
        "import heapq\nwanted = []\nheapq.heappush(wanted, double(1))\nassert half(4) == wanted",
        "wanted = 1\nif double(1):\n    wanted = 2\nassert half(4) == wanted",
        "wanted = 1\nfor n in parse('1'):\n    wanted += 1\nassert half(4) == wanted",
        "try:\n    wanted = half(3)\nexcept ValueError:\n    wanted = 1\nassert half(4) == wanted",
        "wanted = iter([1])\nassert half(4) == next(wanted)",
        "wanted = (n for n in [1])\nassert half(4) == list(wanted)",
        "with pytest.warns(UserWarning) as wanted:\n    pass\nassert half(4) == wanted",
        "global COUNT\nassert half(4) == COUNT",
    ],
)
def test_local_values_that_code_under_test_had_in_hand_are_not(body):
    assert _only(body)[1] == "both"


def test_what_code_under_test_cannot_change_stays_the_tests_own():
    assert _only("text = 'abc'\nassert double(text) == text + 'abc'")[1] == "one"


@pytest.mark.parametrize(
    "body",
    [
        "for n in parse('1'):\n    assert half(n) == 1",
        "if double(1):\n    assert half(4) == 2",
        "while double(1):\n    assert half(4) == 2",
        "if double(1):\n    return\nassert half(4) == 2",
        "for n in [1, 2]:\n    if double(n): continue\n    assert half(4) == 2",
        "match double(1):\n    case 2:\n        pass\nassert half(4) == double(1)",
    ],
)
def test_what_code_under_test_may_lead_past_is_both(body):
    assert _only(body)[1] == "both"


def test_loops_over_the_tests_own_are_certain():
    body = "for n, call in [(1, double), (2, half)]:\n    assert call(n) == 2"
    assert _only(body)[1] == "one"


def test_parameters_are_their_columns_and_fixtures_are_foreign():
    text = HEAD + (
        "@pytest.mark.parametrize('call, n, wanted, foreign', [(double, 1, 2, Box(1))])\n"
        "def test_it(call, n, wanted, foreign, fixture):\n"
        "    assert call(n) == wanted\n"
        "    assert call(n) == foreign\n"
        "    assert call(n) == fixture\n"
        "@pytest.mark.parametrize('wanted', [1], indirect=True)\n"
        "def test_through_a_fixture(wanted):\n"
        "    assert double(1) == wanted\n"
    )
    assert [found[1] for found in sides(text)] == ["one", "both", "both", "both"]


def test_names_from_everywhere_may_hide_builtins():
    text = "from code_under_test import *\ndef test_it():\n    assert double(1) == sorted([1])\n"
    assert sides(text) == [("==", "both", False)]
    assert sides(text.replace("sorted([1])", "[1]")) == [("==", "one", True)]


def test_a_constant_that_any_test_lends_out_is_foreign_to_all():
    text = HEAD + "def test_it():\n    assert double(1) == NUMBERS\n"
    assert sides(text)[0][1] == "one"
    assert sides(text + "def test_other():\n    fill(NUMBERS)\n")[0][1] == "both"
    assert sides(text + "def helper():\n    NUMBERS.append(double(1))\n")[0][1] == "both"
    assert sides(text + "def helper():\n    global NUMBERS\n    NUMBERS = 1\n")[0][1] == "both"


def test_what_is_both_asserts_and_says_both_sides_in_order():
    text = HEAD + "def test_it():\n    assert double(1) == half(4)\n"
    (site,) = module(text).sites
    assert (
        f"assert __cg__.saw({site.id}, double(1)) == __cg__.meant({site.id}, half(4))"
        in shipped(text)
    )
