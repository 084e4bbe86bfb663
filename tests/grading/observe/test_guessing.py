"""What a guess is worth."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeing import see, values

from codegym.grading.observe.guessing import MAX_BITS, bits


@given(values)
@settings(deadline=None)
def test_a_value_is_worth_something_and_not_everything(value):
    assert 0 <= bits(see(value)) <= MAX_BITS


@given(values, st.lists(values, max_size=3))
@settings(deadline=None)
def test_who_knows_more_lacks_no_more(value, inputs):
    seen = see(value)
    alone, known = bits(seen), bits(seen, [see(one) for one in inputs])
    assert known <= alone + 5  # to say which, of what it knows


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [
        (None, 1, 1),
        (True, 1, 1),
        (0, 1, 1),
        (1, 3, 3),
        (-1, 4, 4),
        (1000, 19, 19),
        (10**30, 64, 64),
        (2.0, 4, 4),
        (0.123456789, 30, 34),
        (float("nan"), 2, 2),
        ("", 1, 1),
        ("ab", 12, 16),
        ("hello", 16, 20),
        ("hello hello hello hello", 20, 45),
        ("x" * 1000, 16, 30),
        ([], 1, 1),
        ([1, 1, 1, 1], 6, 9),
        ([1, 2, 3], 10, 15),
        (b"abc", 24, 32),
        (int, 3, 3),
        (object(), 0, 0),
        ("y" * 100_000, 64, 64),
    ],
)
def test_prices(value, least, most):
    assert least <= bits(see(value)) <= most


def test_what_is_an_input_or_part_of_one_costs_an_index():
    text = "a text of some length, that nobody could make up"
    inputs = [see([text, 12345]), see({"k": 999_999})]
    assert bits(see(text)) == MAX_BITS
    assert bits(see(text), inputs) < 5
    assert bits(see(12345), inputs) < 5
    assert bits(see([text, text]), inputs) < 10
    assert bits(see(len(text)), inputs) < 6
    assert bits(see(1_000_000), inputs) < 6  # next to one
    assert bits(see(77_777), inputs) > 30
    assert bits(see("nobody some text"), inputs) < 25  # words of it


def test_more_inputs_make_an_index_dearer():
    few, many = ([see(n * 1000) for n in range(count)] for count in (4, 4000))
    assert bits(see(3000), few) < bits(see(3000), many) <= bits(see(3000))
