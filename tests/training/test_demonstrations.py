"""Demonstrations put right what an edit broke, by replacements that say which place they mean."""

from hypothesis import given
from hypothesis import strategies as st

from codegym.training.demonstrations import _changes, _few_words, _unique

LINES = ["a = b\n", "if a < b:\n", "    a <= b\n", "\n", "x", "(a, b)\n", "    a = b # c\n"]
files = st.lists(st.sampled_from(LINES), max_size=8).map(
    lambda lines: "".join(lines).splitlines(keepends=True)
)


@given(before=files, after=files)
def test_each_replacement_applies_to_one_place_and_all_give_the_answer(before, after):
    for replacement in (_few_words, _unique):
        lines, shift = list(before), 0
        for first, last, new_lines in _changes(before, after):
            at, end = first + shift, last + shift
            old, new = replacement(lines, at, end, new_lines)
            text = "".join(lines)
            if not old:  # an empty file has no place to name
                break
            places = [n for n in range(len(text)) if text.startswith(old, n)]
            assert len(places) == 1
            lines[at:end] = new_lines
            shift += len(new_lines) - (last - first)
            assert text.replace(old, new) == "".join(lines)


def test_as_few_words_as_say_which():
    lines = ["def f(a):\n", "    if a > 2:\n", "        return a > 3\n"]
    assert _few_words(lines, 1, 2, ["    if a >= 2:\n"]) == ("if a >", "if a >=")
    assert _few_words(lines, 1, 2, ["    if a > 4:\n"]) == ("2", "4")
    assert _few_words(lines, 2, 3, ["        return a >= 3\n"]) == ("return a >", "return a >=")
