"""What is sealed stays closed without the key, and cannot be changed or put elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import UsageError
from codegym.store.seal import KEY, Seal, new_key, seal_from_environment

ONE, OTHER = Seal(b"1" * 32), Seal(b"2" * 32)


@given(st.binary(max_size=200), st.binary(max_size=20))
def test_what_was_sealed_is_opened(data, context):
    sealed = ONE.close(data, context)
    assert ONE.open(sealed, context) == data
    assert data not in sealed or len(data) < 4


@given(st.binary(max_size=50), st.data())
def test_any_changed_byte_is_noticed(data, draw):
    sealed = bytearray(ONE.close(data, b"here"))
    at = draw.draw(st.integers(0, len(sealed) - 1))
    sealed[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="changed"):
        ONE.open(bytes(sealed), b"here")


@given(st.binary(max_size=50), st.integers(0, 40))
def test_what_is_cut_off_is_noticed(data, kept):
    sealed = ONE.close(data)
    with pytest.raises(ValueError, match="changed"):
        ONE.open(sealed[: min(kept, len(sealed) - 1)])


def test_another_key_and_another_place_open_nothing():
    sealed = ONE.close(b"the answer", b"here")
    for seal, context in ((OTHER, b"here"), (ONE, b"there")):
        with pytest.raises(ValueError, match="another key"):
            seal.open(sealed, context)
    assert ONE.key_id != OTHER.key_id
    assert ONE.close(b"x") != ONE.close(b"x")


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv(KEY, key := new_key())
    assert seal_from_environment().open(seal_from_environment().close(b"x")) == b"x"
    assert new_key() != key


@pytest.mark.parametrize("value", ["", "short", "ä" * 43, "A" * 42 + "=", " " * 44])
def test_what_is_no_key_is_refused(monkeypatch, value):
    monkeypatch.setenv(KEY, value)
    with pytest.raises(UsageError, match="codegym pack key"):
        seal_from_environment()
