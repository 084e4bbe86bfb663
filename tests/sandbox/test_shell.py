"""The gym's side of the shell's protocol."""

from hypothesis import given
from hypothesis import strategies as st

from codegym.sandbox.shell import Clip


@given(st.lists(st.binary(max_size=50)), st.integers(0, 200))
def test_a_clip_keeps_head_and_tail_and_counts_the_rest(pieces, limit):
    clip = Clip(limit)
    for piece in pieces:
        clip.add(piece)
    whole = b"".join(pieces)
    kept, omitted = clip.value()
    if len(whole) <= limit:
        assert (kept, omitted) == (whole, 0)
    else:
        head, tail = whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :]
        assert omitted == len(whole) - limit
        assert kept == head + b"\n[... %d bytes omitted ...]\n" % omitted + tail


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1))
def test_a_clip_holds_no_more_than_its_limit_and_one_piece(pieces):
    clip = Clip(10)
    for piece in pieces:
        clip.add(piece)
    assert sum(map(len, clip._head)) + sum(map(len, clip._tail)) <= 10 + 50
