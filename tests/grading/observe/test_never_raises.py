"""Whatever came out of a sandbox can be compared and told; nothing of it raises."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.grading.observe import comparing
from codegym.grading.observe.agreement import same_result
from codegym.grading.observe.guessing import bits
from codegym.grading.observe.sites import Site
from codegym.grading.observe.values import NoValueError, decode, describe, encode, order

#: Names that the grader knows some value by, on values that are none.
NAMES = st.sampled_from(
    [
        *("collections.deque", "collections.Counter", "collections.OrderedDict", "array.array"),
        *("dict_keys", "numpy.ndarray", "re.Pattern", "fractions.Fraction", "decimal.Decimal"),
        *("builtins.int", "builtins.dict", "datetime.timedelta", "unittest.mock._ANY"),
    ]
)
HUGE = ["int", "f" * 5000]
atoms = (
    st.none()
    | st.booleans()
    | st.integers(-300, 300)
    | st.text(max_size=3)
    | st.sampled_from([HUGE, ["int", "-" + "f" * 5000], ["int", "f" * 20]])
    | st.sampled_from([["float", "nan"], ["float", "inf"], ["float", "0x1.8000000000000p+1"]])
    | st.sampled_from([["bytes", "00"], ["complex", "nan", "inf"], ["constant", "Ellipsis"]])
    | st.sampled_from([["std", "decimal.Decimal", "sNaN"], ["std", "decimal.Decimal", "1E+999999"]])
    | st.sampled_from([["std", "fractions.Fraction", HUGE, 1], ["cycle", 1], ["any"]])
    | st.sampled_from([["range", 0, HUGE, 1], ["range", HUGE, 0, 2], ["range", 0, 1 << 40, 3]])
    | NAMES.map(lambda name: ["class", name])
    | NAMES.map(lambda name: ["function", name])
    | NAMES.map(lambda name: ["digest", name, "a" * 64, HUGE])
    | NAMES.map(lambda name: ["opaque", name, ["tuple", name], None])
)


def _more(inner):
    several = st.lists(inner, max_size=3)
    return (
        several.map(lambda parts: ["list", *parts])
        | several.map(lambda parts: ["tuple", *parts])
        | inner.map(lambda part: ["set", part])
        | inner.map(lambda part: ["frozenset", part])
        | st.tuples(inner, inner).map(lambda two: ["dict", *two])
        | st.tuples(inner, inner, inner).map(lambda three: ["slice", *three])
        | st.tuples(NAMES, inner).map(lambda two: ["sub", *two])
        | st.tuples(NAMES, inner, inner).map(lambda found: ["enum", found[0], "A", *found[1:]])
        | st.tuples(NAMES, inner).map(lambda two: ["fields", two[0], "x", two[1]])
        | st.tuples(NAMES, several).map(
            lambda two: ["error", two[0], "said", ["tuple", two[0]], ["tuple", *two[1]]]
        )
        | several.map(lambda parts: ["std", "collections.deque", ["list", *parts], None])
        | several.map(lambda parts: ["std", "array.array", "d", ["list", *parts]])
        | inner.map(lambda part: ["std", "dict_keys", ["set", part]])
        | several.map(
            lambda parts: ["std", "numpy.ndarray", "<f8", ["tuple", len(parts)], ["list", *parts]]
        )
        | st.tuples(inner, inner).map(lambda two: ["approx", *two, True, two[0]])
        | st.just(["std", "re.Pattern", "a", 0])
    )


def _reads(data):
    try:
        decode(data)
    except NoValueError:
        return False
    return True


values = st.recursive(atoms, _more, max_leaves=6).filter(_reads)


#: Each ended a grade by an exception, or without an end, before it was met with.
TRAPS = {
    "a large fraction": ["std", "fractions.Fraction", HUGE, 1],
    "a text of a large size": ["digest", "builtins.list", "a" * 64, HUGE],
    "a large range as a key": ["dict", ["range", 0, ["int", "f" * 20], 1], 1],
    "a range of large numbers": ["set", ["range", 0, 5, HUGE]],
    "a class called deque": ["class", "collections.deque"],
    "a class called dict_keys": ["class", "dict_keys"],
    "a class called array": ["class", "array.array"],
    "a class called ndarray": ["class", "numpy.ndarray"],
    "a class called Pattern": ["class", "re.Pattern"],
}
BESIDE = [1, "a", ["list", 1], ["dict", "a", 1], ["approx", None, None, False, 1]]
BESIDE += [
    ["set", 1],
    ["std", "collections.deque", ["list", 1], None],
    ["tuple", ["class", "A"], "a"],
]


def judge(op, mine, meant, kept):
    options = (("places", 7),) if "almost" in op else ()
    assert comparing.holds(op, options, mine, meant, kept) in {True, False}
    site = Site(1, "test_it", 1, "", "compare", op, options)
    assert same_result(site, mine, kept) in {True, False}
    assert len(describe(mine)) <= 200
    assert 0 <= bits(kept, {mine}) <= 64
    assert order(mine) == order(decode(encode(mine)))


@pytest.mark.parametrize("data", TRAPS.values(), ids=TRAPS)
def test_what_is_made_to_break_the_comparison_only_fails_it(data):
    trap = decode(data)
    for op in comparing._TESTS:
        for other in map(decode, BESIDE):
            judge(op, trap, other, other)
            judge(op, other, trap, other)
            judge(op, other, trap, trap)


@given(
    st.tuples(values, values, values) | values.map(lambda data: (data, data, data)),
    st.sampled_from(sorted(comparing._TESTS)),
)
@settings(max_examples=200)
def test_whatever_was_seen_is_compared_and_told(three, op):
    judge(op, *map(decode, three))
