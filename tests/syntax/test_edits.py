"""Edits of bytes: nothing outside their spans moves, none overlap, none is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.syntax import Edit, apply_edits, changes


@st.composite
def edited(draw):
    """A text, spans of it that do not overlap, and what takes their place."""
    source = draw(st.binary(max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(source)), max_size=8)))
    spans = [(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False) if a < b]
    return source, [Edit(a, b, draw(st.binary(max_size=6))) for a, b in spans]


@given(edited(), st.randoms())
def test_what_is_outside_the_spans_stays(case, random):
    source, edits = case
    shuffled = list(edits)
    random.shuffle(shuffled)
    after = apply_edits(source, shuffled)
    at = 0
    for index, edit in enumerate(edits):
        before = edits[index - 1].end if index else 0
        kept = source[before : edit.start]
        assert after[at : at + len(kept)] == kept
        at += len(kept)
        assert after[at : at + len(edit.replacement)] == edit.replacement
        at += len(edit.replacement)
    assert after[at:] == source[edits[-1].end if edits else 0 :]


@given(edited())
def test_the_inverse_gives_the_source_back(case):
    source, edits = case
    after = apply_edits(source, edits)
    inverse, shift = [], 0
    for edit in edits:
        start = edit.start + shift
        inverse.append(Edit(start, start + len(edit.replacement), source[edit.start : edit.end]))
        shift += len(edit.replacement) - (edit.end - edit.start)
    if all(edit.replacement for edit in edits):
        assert apply_edits(after, inverse) == source


def test_each_edit_is_of_the_source_as_it_is():
    assert apply_edits(b"abcdef", [Edit(4, 5, b""), Edit(0, 1, b"xyz")]) == b"xyzbcdf"


def test_what_is_put_in_before_a_span_is_no_overlap():
    assert apply_edits(b"ab", [Edit(1, 2, b"y"), Edit(0, 1, b"x")]) == b"xy"
    assert apply_edits(b"ab", [Edit(0, 1, b"x"), Edit(1, 1, b"-")]) == b"x-b"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 3, b""), Edit(2, 4, b"")],
        [Edit(1, 1, b"x"), Edit(1, 1, b"y")],
        [Edit(0, 2, b"x"), Edit(0, 2, b"x")],
        [Edit(2, 9, b"")],
    ],
)
def test_overlaps_and_what_is_beyond_the_end_are_refused(edits):
    with pytest.raises(ValueError, match="edit"):
        apply_edits(b"abcd", edits)


@pytest.mark.parametrize("span", [(-1, 0), (3, 2)])
def test_a_span_runs_forwards(span):
    with pytest.raises(ValueError, match="no span"):
        Edit(*span, b"")


def test_an_edit_that_puts_the_same_there_changes_nothing():
    assert not changes(b"abc", Edit(1, 2, b"b"))
    assert changes(b"abc", Edit(1, 2, b""))
