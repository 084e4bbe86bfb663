"""Which tests run an edit."""

import pytest

from codegym.mutation.coverage import Coverage, depth_of, lines_of
from codegym.syntax import Edit, parse

SOURCE = b"""\
LIMIT = 10


def f(
    a,
    b=1,
):
    if (
        a > b
    ):
        a = [
            1,
            a,
        ]
        return a
    # why
    return b


class A:
    x = 1


try:
    f(1)
except (
    KeyError,
):
    pass
"""


def at(text, replacement=b"", start=0):
    place = SOURCE.index(text, start)
    return Edit(place, place + len(text), replacement)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (at(b"10"), [1]),
        (at(b"b=1"), list(range(8, 18))),
        (at(b"a > b"), [8, 9, 10]),
        (at(b"1,\n            a"), [11, 12, 13, 14]),
        (at(b"        return a\n"), [15]),
        (at(b"a = [\n            1,\n            a,\n        ]\n        ret"), [*range(11, 16)]),
        (Edit(SOURCE.index(b"return a") + 8, SOURCE.index(b"return a") + 8, b"\n"), [15]),
        (at(b"    # why\n    return b"), [16, 17]),
        (at(b"x = 1"), [21]),
        (at(b"KeyError"), [27]),
        (at(b"pass"), [29]),
    ],
)  # fmt: skip
def test_lines_of_an_edit(edit, expected):
    assert list(lines_of(parse(SOURCE, "python"), edit)) == expected


def test_depth_counts_blocks_of_the_function():
    parsed = parse(SOURCE, "python")
    assert depth_of(parsed, at(b"return a")) == 2
    assert depth_of(parsed, at(b"return b")) == 1
    assert depth_of(parsed, at(b"10")) == 0


COVERAGE = Coverage(
    {
        "": {"a.py": frozenset({1, 4, 20, 21})},
        "t::one": {"a.py": frozenset({8, 17})},
        "t::two": {"a.py": frozenset({8, 11, 15})},
        "t::three": {"b.py": frozenset({8})},
    }
)


def test_tests_of_lines():
    assert COVERAGE.tests_of("a.py", [8]) == {"t::one", "t::two"}
    assert COVERAGE.tests_of("a.py", [15, 17]) == {"t::one", "t::two"}
    assert COVERAGE.tests_of("a.py", [15]) == {"t::two"}
    assert COVERAGE.tests_of("a.py", [16]) == set()
    assert COVERAGE.tests_of("c.py", [8]) == set()


def test_what_runs_at_import_is_run_by_all_that_use_the_file():
    assert COVERAGE.tests_of("a.py", [1]) == {"t::one", "t::two"}
    assert COVERAGE.tests_of("a.py", [1, 15]) == {"t::two"}
