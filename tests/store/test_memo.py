"""Scores that are remembered."""

from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.store.memo import ScoreMemo

KEYS = st.sampled_from("abc")
STEPS = st.lists(st.tuples(st.sampled_from(("put", "drop")), KEYS, st.floats(0, 1)))


@given(steps=STEPS)
def test_it_is_a_mapping_that_outlives_its_maker(tmp_path_factory, steps):
    path, model = tmp_path_factory.mktemp("memo") / "memo.sqlite", {}
    for what, key, score in steps:
        if what == "put":
            ScoreMemo(path).put(key, score)
            model[key] = score
        else:
            ScoreMemo(path).drop(key)
            model.pop(key, None)
    memo = ScoreMemo(path)
    assert len(memo) == len(model)
    assert {key: memo.get(key) for key in "abc"} == {key: model.get(key) for key in "abc"}


def test_many_write_at_once(tmp_path):
    memo = ScoreMemo(tmp_path / "memo.sqlite")
    writers = [Thread(target=memo.put, args=(str(number), number / 8)) for number in range(8)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert [memo.get(str(number)) for number in range(8)] == [number / 8 for number in range(8)]


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "memo.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(DataError, match="no memo"):
        ScoreMemo(path).get("a")
