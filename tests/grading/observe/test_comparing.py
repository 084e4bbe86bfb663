"""Assertions on data hold exactly where Python's, pytest's and unittest's would."""

import collections
import copy
import datetime
import operator
import re
import time
import unittest
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeing import agrees, atoms, hashables, numbers, see, values

from codegym.grading.observe.comparing import holds
from codegym.types import Value

OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda one, other: one in other,
    "not in": lambda one, other: one not in other,
    "contains": lambda one, other: other in one,
    "not contains": lambda one, other: other not in one,
    "true": lambda one, other: bool(one),
    "false": lambda one, other: not one,
}
case = unittest.TestCase()


def passes(assertion, *args, **kwargs) -> bool:
    """What Python says; what breaks does not pass."""
    try:
        return assertion(*args, **kwargs) in {None, True}
    except (AssertionError, TypeError, ValueError, ArithmeticError):
        return False


def pairs(things):
    """Two that are independent, or equal, or parts of one another."""
    return (
        st.tuples(things, things)
        | things.map(lambda value: (value, copy.deepcopy(value)))
        | st.tuples(things, st.lists(things, max_size=3)).map(
            lambda two: (two[0], [*two[1], two[0]])
        )
    )


twins = st.sampled_from(
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (1, 1 + 0j),
        (1, Decimal("1.00")),
        (Fraction(1, 2), 0.5),
        (Decimal("Infinity"), float("inf")),
        (b"x", bytearray(b"x")),
        ({1, 2}, frozenset([2, 1])),
        ({1: "a", 2: "b"}, {2.0: "b", True: "a"}),
        ([1, (2,)], [1.0, (2 + 0j,)]),
        (range(0), range(5, 2)),
        (range(0, 4, 3), range(0, 5, 3)),
        (collections.OrderedDict(a=1, b=2), {"b": 2, "a": 1}),
        (collections.Counter(a=1, b=0), collections.Counter(a=1)),
        (collections.deque([1], 5), collections.deque([1])),
        ({}.keys(), set()),
        (2**60, float(2**60)),
        ({(1, 2.0)}, {(1.0, 2)}),
        (10**400, float("inf")),
    ]
)


@given(pairs(values) | twins)
@settings(deadline=None, max_examples=100)
def test_operators_are_pythons(two):
    for op, assertion in OPERATORS.items():
        for one, other in (two, two[::-1]):
            said, real = agrees(op, one, other), passes(assertion, one, other)
            counted = op in "<=>=" and isinstance(one, collections.Counter)
            # Inclusion of one Counter in another is not known: it is refused.
            assert (said <= real) if counted else (said == real), (op, one, other)


@given(pairs(numbers | st.text(max_size=3) | st.binary(max_size=3)))
@settings(deadline=None, max_examples=100)
def test_orders_are_pythons(two):
    for op in ("<", "<=", ">", ">=", "==", "in", "contains"):
        assert agrees(op, *two) == passes(OPERATORS[op], *two), op


def test_nan_is_equal_to_nothing():
    nan = float("nan")
    assert not agrees("==", nan, nan)
    assert agrees("!=", nan, nan)
    assert not agrees("==", [nan], [float("nan")])
    assert not agrees("==", {nan: 1}, {nan: 1})
    assert not agrees("==", Decimal("sNaN"), Decimal("sNaN"))


plain = st.integers(-5, 5) | st.floats() | st.booleans() | st.fractions()
tolerances = st.none() | st.sampled_from([0.0, 1e-9, 0.1, 1, 1e3])
close = st.floats(-10, 10).flatmap(
    lambda x: st.tuples(st.just(x), st.sampled_from([x, x + 1e-7, x * (1 + 1e-7), x + 0.05, -x]))
)


@given(st.tuples(plain, plain) | close, tolerances, tolerances, st.booleans())
@settings(deadline=None, max_examples=150)
def test_approx_is_pytests(two, rel, absolute, nan_ok):
    def near(expected):
        return pytest.approx(expected, rel=rel, abs=absolute, nan_ok=nan_ok)

    one, other = two
    for actual, expected in [
        (one, other),
        ([one, 1], [other, 1]),
        ((one,), [other]),
        ([one], [other, other]),
        ({"a": one}, {"a": other}),
        ({"b": one}, {"a": other}),
        ([{"x": one}], {"x": other}),
        (np.array([one, one], float), [other, other]),
    ]:
        said = agrees("==", actual, near(expected))
        assert said == passes(lambda a, e: bool(a == near(e)), actual, expected), (actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (Decimal("1.0000001"), pytest.approx(Decimal(1))),
        (Decimal("1.1"), pytest.approx(Decimal(1))),
        (1 + 1e-9j, pytest.approx(1)),
        (None, pytest.approx(None)),
        ("a", pytest.approx("a")),
        ("b", pytest.approx("a")),
        (True, pytest.approx(1)),
        (1, pytest.approx(True)),
        ([], pytest.approx([])),
        (5, pytest.approx([5])),
        ("5", pytest.approx(5)),
        (np.array([[1.0], [2.0]]), pytest.approx(np.array([[1.0], [2.0]]))),
        (np.array([1.0, 2.0]), pytest.approx(np.array([[1.0], [2.0]]))),
        (collections.deque([1.0]), pytest.approx([1.0])),
        (10**400, pytest.approx(1.0)),
    ],
)
def test_approx_of_other_kinds_is_pytests(actual, expected):
    assert agrees("==", actual, expected) == passes(lambda: bool(actual == expected))
    assert agrees("==", [actual], [expected]) == passes(lambda: bool([actual] == [expected]))


@given(
    st.tuples(plain | atoms, plain | atoms) | close,
    st.sampled_from([{}, {"places": 2}, {"places": 0}, {"delta": 0.1}, {"delta": 0}]),
)
@settings(deadline=None, max_examples=150)
def test_almost_is_unittests(two, options):
    one, other = two
    for op, assertion in (
        ("almost", case.assertAlmostEqual),
        ("not almost", case.assertNotAlmostEqual),
    ):
        assert agrees(op, one, other, **options) == passes(assertion, one, other, **options), op


@given(pairs(st.lists(values, max_size=3) | st.sets(hashables, max_size=3)), st.randoms())
@settings(deadline=None, max_examples=100)
def test_count_equal_is_unittests(two, random):
    one, other = two
    mixed = list(one)
    random.shuffle(mixed)
    for actual, expected in ((one, other), (one, mixed), (mixed, one), (mixed[1:], one)):
        wanted = passes(case.assertCountEqual, actual, expected)
        assert agrees("count_equal", actual, expected) == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (collections.deque(), collections.deque(maxlen=5)),
        ({}.keys(), set()),
        (collections.Counter(a=1, b=0), collections.Counter(a=1)),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)),
        ([float("nan")], [float("nan")]),
        ({"a": [1]}, {"a": [1.0]}),
    ],
)
def test_parts_without_a_hash_are_counted_as_unittest_does(one, other):
    for actual, expected in (([one], [other]), ([one, 3], [3, other]), ([one, one], [one, other])):
        wanted = passes(case.assertCountEqual, actual, expected)
        assert agrees("count_equal", actual, expected) == wanted


PATTERNS = ["a", "^a+$", r"\d{2,}", "(?i)A", "", "[", "é", "a|b"]


@given(st.sampled_from(PATTERNS), st.text("aAb1é\n", max_size=4))
@settings(deadline=None, max_examples=25)
def test_searches_are_res(pattern, text):
    def search():
        try:
            return re.search(pattern, text) is not None
        except re.error:
            return None

    found = search()
    assert agrees("regex", text, pattern, gold="other") is (found is True)
    if found is not None:
        assert agrees("regex", text, re.compile(pattern, re.A), gold="other") is (
            re.search(pattern, text, re.A) is not None
        )
        assert agrees("not regex", text, pattern, gold="other") is (found is False)


def test_bytes_are_searched_too():
    assert agrees("regex", b"xaay", re.compile(b"a+"), gold=b"")
    assert not agrees("regex", b"xaay", "a+", gold=b"")
    assert not agrees("regex", 5, "5", gold="")


def test_a_pattern_that_explodes_is_stopped():
    began = time.perf_counter()
    assert not agrees("regex", "a" * 200 + "b", "^(a+)+$", gold="a")
    assert time.perf_counter() - began < 60  # it would take longer than the universe is old
    assert agrees("regex", "a" * 200, "^(a+)+$", gold="a")


@pytest.mark.parametrize(
    ("actual", "expected", "yes"),
    [
        (None, None, True),
        (True, True, True),
        (1, True, False),
        (..., ..., True),
        (int, int, True),
        (5, 5, False),  # who knows
        (0, None, False),
    ],
)
def test_identity_is_of_what_there_is_one_of(actual, expected, yes):
    assert agrees("is", actual, expected) is yes
    if expected != 5:
        assert agrees("is not", actual, expected) is not yes


def test_anything_but_none():
    assert agrees("is not", object(), None)
    assert not agrees("is not", object(), None, gold=5)


@given(values)
@settings(deadline=None, max_examples=50)
def test_instances_are_pythons(value):
    for kind in (int, str, dict, list, object, (int, set), collections.abc.Iterable, float, bytes):
        assert agrees("isinstance", value, kind) or not isinstance(value, kind)
        if type(value) not in {collections.Counter, collections.OrderedDict}:
            assert agrees("isinstance", value, kind) == isinstance(value, kind), kind
            assert agrees("not isinstance", value, kind) != isinstance(value, kind), kind


# --- raises


class MineError(KeyError):
    def __str__(self):
        return "mine: 42"


def raised(error, meant, match=None, gold=None):
    return agrees("raises", error, (meant, match), gold=gold or error)


def test_raises():
    assert raised(KeyError("a"), LookupError)
    assert raised(KeyError("a"), (ValueError, KeyError))
    assert not raised(KeyError("a"), ValueError)
    assert not holds("raises", (), see(None), see((KeyError, None)), see(KeyError("a")))
    assert raised(ValueError("bad 42"), ValueError, "bad", gold=ValueError("good"))
    assert raised(ValueError("bad 42"), ValueError, re.compile(r"\d+"), gold=ValueError("good"))
    assert not raised(ValueError("bad"), ValueError, r"\d+", gold=ValueError("good"))
    assert not raised(
        MineError("x"), MineError, "42", gold=ValueError("good")
    )  # nobody asked its class


# --- what is large or odd stops nobody


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (Decimal("1E+999999999"), Fraction(1, 3)),
        (Decimal("1E+999999999"), 5),
        (Decimal("1E-999999999"), 0.5),
        (Decimal("1E+999999999"), range(10**30)),
        ([Decimal("1E+999999999")], [1, Decimal("1E+999999")]),
        (1e300, range(10**30)),
        (float("inf"), range(10**30)),
        (10**4_000, 1.5),
        ([k * (2**61 - 1) for k in range(1, 2500)], list(range(2499))),
        (dict.fromkeys([k * (2**61 - 1) for k in range(1, 2500)]), dict.fromkeys(range(2499))),
        ({k * (2**61 - 1) for k in range(1, 2500)}, set(range(2499))),
    ],
)
def test_no_comparison_takes_long(actual, expected):
    one, other = see(actual), see(expected)
    began = time.process_time()
    for op in (*OPERATORS, "almost", "count_equal", "isinstance"):
        for options in ((), (("delta", 1),)):
            holds(op, options, one, other, one)
            holds(op, options, other, one, other)
    assert time.process_time() - began < 60  # minutes to forever if it is done wrong


@given(values, values)
@settings(deadline=None, max_examples=50)
def test_any_op_on_any_values_answers(one, other):
    for op in ("raises", "regex", "isinstance", "is", "almost", "nonsense"):
        assert agrees(op, one, other) in {True, False}
    assert not holds("nonsense", (), see(one), see(one), see(one))


def test_moments_of_one_zone_and_another():
    utc = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    west = utc.astimezone(datetime.timezone(datetime.timedelta(hours=-3)))
    assert agrees("==", utc, west)
    assert agrees("==", {utc: 1}, {west: 1})
    assert not agrees("<", utc, west)
    assert agrees("almost", utc, west + datetime.timedelta(1), delta=5) is False


def test_junk_in_both_sides_is_no_pair():
    """Of a site with two sides both are untrusted."""
    opaque = Value("opaque", "x", parts=(Value("tuple"), Value("none")))
    for kind in (opaque, Value("any"), Value("cycle", parts=(Value("int", leaf=1),))):
        assert not holds("==", (), kind, kind, Value("int", leaf=1))
