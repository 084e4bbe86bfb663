"""The text space: cheap to check, and at home everywhere that Gymnasium takes a space."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs import spaces
from codegym.envs.spaces import Text
from codegym.types import Observation

texts = st.text(st.characters(exclude_categories=()), max_size=50)  # surrogates and NUL among them


class Closed(str):
    """Text whose characters nobody may look at."""

    __slots__ = ()

    def __iter__(self):
        raise AssertionError("looked at")


def test_contains_looks_at_type_and_length_only():
    space = Text(10, min_length=1)
    assert "\0ä€😀" in space
    assert "" not in space
    assert "x" * 11 not in space
    assert b"x" not in space
    assert 3 not in space
    assert Closed("x" * 10) in space


@given(texts)
def test_flatten_and_shared_memory_keep_any_text(text):
    space = Text(50)
    assert unflatten(space, flatten(space, text)) == text
    memory = create_shared_memory(space, n=3)
    live = read_from_shared_memory(space, memory, n=3)
    before = copy.deepcopy(live)
    write_to_shared_memory(space, 1, text, memory)
    assert copy.deepcopy(live) == ("", text, "")
    assert (list(live), live[1:], len(live)) == (["", text, ""], (text, ""), 3)
    assert before == ("", "", "")


def test_flattened_text_is_in_the_flattened_space():
    space = Text(20)
    assert flatten_space(space).shape == flatten(space, "abc").shape


def test_samples_are_contained_and_follow_the_seed():
    space = Text(spaces.MAX_ACTION_CHARS, seed=3)
    drawn = [space.sample() for _ in range(50)]
    assert all(text in space for text in drawn)
    assert len(set(drawn)) > 40
    space.seed(3)
    assert [space.sample() for _ in range(50)] == drawn
    assert len(space.sample(mask=(100, None))) == 100
    assert len(Text(500, min_length=400).sample()) == 400
    with pytest.raises(ValueError, match="character set"):
        space.sample(mask=(3, np.ones(4, dtype=np.int8)))
    with pytest.raises(ValueError, match="not in"):
        Text(5).sample(mask=(6, None))


def test_copies_are_equal_and_independent():
    space = Text(10, seed=1)
    for twin in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert twin == space
        assert twin.sample() == copy.deepcopy(space).sample()
    assert Text(10) != Text(11)
    assert Text(10) != Text(10, min_length=1)
    assert Text(10) != gym.spaces.Text(10)
    assert space.from_jsonable(space.to_jsonable(["a", "b"])) == ["a", "b"]
    assert eval(repr(space)) == space


def test_batches_of_actions():
    space = spaces.action_space()
    batch = batch_space(space, 3)
    drawn = batch.sample()
    assert drawn in batch
    assert len(set(drawn)) > 1  # sub-spaces have random states of their own
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]


def test_batches_of_observations():
    space = spaces.observation_space(max_steps=5, max_output_chars=300)
    batch = batch_space(space, 2)
    seen = [
        spaces.to_dict(Observation("do it", "x", 5)),
        spaces.to_dict(Observation("do it", "", 0, 255, 10**9, 3)),
    ]
    assert all(each in space for each in seen)
    stacked = concatenate(space, seen, create_empty_array(space, n=2))
    assert stacked in batch
    assert stacked["instruction"] == ("do it", "do it")
    assert stacked["last_exit_code"].tolist() == [-1, 255]
    assert batch.sample() in batch


def test_an_observation_is_new_each_time():
    observation = Observation("a", "b", 1)
    assert spaces.to_dict(observation) is not spaces.to_dict(observation)


def test_an_observation_out_of_bounds_is_not_contained():
    space = spaces.observation_space(max_steps=5, max_output_chars=300)
    assert spaces.to_dict(Observation("a", "b" * 301, 1)) not in space
    assert spaces.to_dict(Observation("a", "b", 6)) not in space
