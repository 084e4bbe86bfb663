"""Reading values from what anyone could have written: all of it or nothing, in bounded time."""

import datetime
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeing import encode as written
from seeing import see, values

from codegym.grading.observe.values import NoValueError, decode, describe, encode, known
from codegym.types import Value


@given(values)
@settings(deadline=None)
def test_what_is_read_is_written_the_same(value):
    text = written(value)
    found = decode(json.loads(text))
    assert json.dumps(encode(found), separators=(",", ":")) == text
    assert decode(encode(found)) == found


JUNK = {
    "a float": 1.5,
    "an object": {},
    "nothing": [],
    "no kind": [5],
    "unknown": ["module", "os"],
    "kind in a list": [["list"]],
    "a large number": 1 << 70,
    "small as large": ["int", "5"],
    "capitals": ["int", "F" * 20],
    "minus minus": ["int", "--" + "f" * 20],
    "underscores": ["int", "f_" * 20],
    "spaces": ["int", " " + "f" * 20],
    "leading zeros": ["int", "0" + "f" * 20],
    "no text": ["int", 5],
    "two texts": ["int", "f" * 20, "f" * 20],
    "infinity as JSON": float("inf"),
    "nan as JSON": float("nan"),
    "infinity in full": ["float", "infinity"],
    "NaN": ["float", "NaN"],
    "minus nan": ["float", "-nan"],
    "a decimal float": ["float", "1.5"],
    "an overflow": ["float", "0x1p99999"],
    "a denormal": ["float", "0x2.0p+0"],
    "half a complex": ["complex", "inf"],
    "odd bytes": ["bytes", "abc"],
    "large bytes": ["bytes", "AB"],
    "spaced bytes": ["bytes", "ab cd"],
    "plain text as bytes": ["str", "41"],
    "no text in bytes": ["str", "ff"],
    "a surrogate": "\ud800",
    "a key twice": ["dict", 1, 2, 1, 3],
    "a key alone": ["dict", 1],
    "out of order": ["set", 2, 1],
    "twice": ["frozenset", 1, 1],
    "no range": ["range", 0, 1],
    "step 0": ["range", 0, 1, 0],
    "a range of text": ["range", "0", 1, 1],
    "a constant": ["constant", "True"],
    "no date": ["std", "datetime.date", 2020, 13, 1],
    "a date of text": ["std", "datetime.date", "2020", "1", "1"],
    "a date of flags": ["std", "datetime.date", 2020, True, True],
    "a delta that is not normal": ["std", "datetime.timedelta", 0, 0, 10**15],
    "a zone too far": ["std", "datetime.timezone", 10**12, "x"],
    "fold": ["std", "datetime.time", 0, 0, 0, 0, 2, None, None],
    "a decimal with space": ["std", "decimal.Decimal", " 1"],
    "no decimal": ["std", "decimal.Decimal", "x"],
    "a fraction to cancel": ["std", "fractions.Fraction", 2, 4],
    "a fraction of 0": ["std", "fractions.Fraction", 1, 0],
    "a large uuid": ["std", "uuid.UUID", ["int", "1" + "0" * 32]],
    "no path": ["std", "pathlib.PosixPath", 5],
    "unknown std": ["std", "os.system", "x"],
    "a deque of a dict": ["std", "collections.deque", ["dict"], None],
    "no name": ["sub"],
    "a name that is none": ["sub", 5, 5],
    "a long name": ["sub", "x" * 500, 5],
    "two payloads": ["sub", "x", 5, 5],
    "half a field": ["fields", "x", "y"],
    "a field without name": ["fields", "x", 1, 2],
    "an error without args": ["error", "x", None, ["tuple"]],
    "bases that are none": ["error", "x", None, ["tuple", 5], ["tuple"]],
    "an opaque lie": ["opaque", "x", ["tuple"], False],
    "a short digest": ["digest", "x", "ab", 5],
    "parts of any": ["any", 1],
    "approx": ["approx", None, None, 5, 1],
    "nested junk": ["list", ["list", ["list", 1.5]]],
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_is_refused(name):
    with pytest.raises(NoValueError):
        decode(JUNK[name])


def test_what_is_too_deep_or_too_large_is_refused():
    deep: list = ["list"]
    for _ in range(5000):
        deep = ["list", deep]
    for data in (deep, ["list", *[1] * 100_000]):
        with pytest.raises(NoValueError, match="too large"):
            decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        | st.builds(
            lambda kind, rest: [kind, *rest],
            st.sampled_from(["list", "dict", "set", "std", "sub", "error", "fields", "float"]),
            st.lists(inner | st.sampled_from(["datetime.date", "uuid.UUID"]), max_size=5),
        )
    ),
)


@given(json_values)
@settings(deadline=None)
def test_whatever_is_read_would_have_been_written_so(data):
    try:
        found = decode(data)
    except NoValueError:
        return
    assert json.dumps(encode(found)) == json.dumps(data)
    known(found)
    assert len(describe(found)) <= 200


@given(values)
@settings(deadline=None)
def test_a_description_is_one_bounded_line(value):
    text = describe(see(value))
    assert 0 < len(text) <= 200
    assert text.isprintable()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        ([1, "a", (2,)], "[1, 'a', (2,)]"),
        ({"a": {1}}, "{'a': {1}}"),
        (1 << 5000, "an integer of 5001 bits"),
        (datetime.date(2020, 1, 2), "datetime.date(2020, 1, 2)"),
        (KeyError("k"), "KeyError: 'k'"),
        (int, "int"),
        (object(), "a builtins.object"),
        ("x" * 100_000, "a str of 100002 characters"),
        (["\n\x1b"], r"['\n\x1b']"),
        (set(), "set()"),
    ],
)
def test_descriptions(value, text):
    assert describe(see(value)) == text


def test_what_is_known():
    assert known(Value("list", parts=(Value("none"),)))
    opaque = Value("opaque", "x", parts=(Value("tuple"), Value("none")))
    assert not known(Value("list", parts=(opaque,)))
