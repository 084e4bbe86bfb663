"""Cut text keeps its ends and its bound."""

from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.text import cut_middle, decode


@given(st.text(max_size=500), st.integers(1, 300))
def test_the_bound_holds_and_short_text_is_kept(text, bound):
    cut = cut_middle(text, bound)
    assert len(cut) <= bound
    if len(text) <= bound:
        assert cut == text


def test_the_ends_stay_and_the_cut_is_told():
    text = "start" + "x" * 10_000 + "end"
    cut = cut_middle(text, 500)
    assert cut.startswith("start")
    assert cut.endswith("end")
    assert "cut out here" in cut


@given(st.binary(max_size=100))
def test_any_bytes_are_text(data):
    text = decode(data)
    assert "\0" not in text
    text.encode()
