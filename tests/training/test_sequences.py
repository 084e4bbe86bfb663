"""Only what the policy sampled is trained on, token for token."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import UsageError
from codegym.training.sequences import sequences
from codegym.types import Action, Observation, TokenTrace, Trajectory, Turn

pytestmark = pytest.mark.train

tokens = st.lists(st.integers(0, 9), min_size=1, max_size=5)


def _trajectory(*traces):
    seen = Observation("do", "", 1)
    turns = tuple(
        trace if isinstance(trace, Turn) else Turn(Action("call", tokens=trace), seen, 0.0, 0.0)
        for trace in traces
    )
    return Trajectory("task-1", "someone", 0, seen, turns)


def _trace(prompt, said):
    return TokenTrace(tuple(prompt), tuple(said), tuple(-0.1 * (one + 1) for one in said))


def _going_on(turns):
    """Traces of one conversation: each prompt is all before it and something new."""
    all_so_far = []
    for fresh, said in turns:
        all_so_far += fresh
        yield _trace(all_so_far, said)
        all_so_far += said


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=5))
def test_a_conversation_that_only_grows_is_one_sequence(turns):
    traces = list(_going_on(turns))
    (made,) = sequences(_trajectory(*traces))
    assert made.ids == traces[-1].prompt_ids + traces[-1].completion_ids
    assert made.logprobs() == tuple(p for trace in traces for p in trace.logprobs)
    for span, trace in zip(made.spans, traces, strict=True):
        assert made.ids[span.start : span.end] == trace.completion_ids
        assert made.ids[: span.start] == trace.prompt_ids
        assert made.sampler_logprobs[span.start : span.end] == trace.logprobs


@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=5))
def test_the_mask_is_where_the_policy_did_not_write(turns):
    (made,) = sequences(_trajectory(*_going_on(turns)))
    written = set(made.actions)
    assert made.env_mask == tuple(place not in written for place in range(len(made.ids)))
    assert all(made.sampler_logprobs[p] == 0.0 for p in range(len(made.ids)) if made.env_mask[p])
    assert 0 not in written


@given(tokens, tokens, tokens, tokens)
def test_a_prompt_that_does_not_go_on_begins_a_new_sequence(prompt, said, other, answer):
    first = _trace(prompt, said)
    changed = _trace([one + 100 for one in other], answer)
    made = sequences(_trajectory(first, changed))
    assert [each.ids for each in made] == [
        first.prompt_ids + first.completion_ids,
        changed.prompt_ids + changed.completion_ids,
    ]
    assert [each.spans[0].turn for each in made] == [0, 1]


def test_one_token_of_the_answer_that_differs_breaks_the_law():
    made = sequences(_trajectory(_trace([1, 2], [3, 4]), _trace([1, 2, 3, 5, 6], [7])))
    assert len(made) == 2


def test_an_action_without_tokens_is_refused_and_named():
    bare = Turn(Action("call"), Observation("do", "", 1), 0.0, 0.0)
    with pytest.raises(UsageError, match="task-1, turn 2: the action of policy 'someone' has no"):
        sequences(_trajectory(_trace([1], [2]), bare))


def test_a_turn_that_was_cut_off_teaches_nothing():
    silent = Turn(Action(""), Observation("do", "", 1), 0.0, 0.0)
    (made,) = sequences(_trajectory(_trace([1], [2]), silent))
    assert made.ids == (1, 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"logprobs": ()}, "1 tokens with 0 log-probabilities"),
        ({"prompt_ids": ()}, "without a prompt"),
    ],
)
def test_tokens_that_do_not_fit_are_refused(change, told):
    with pytest.raises(UsageError, match=told):
        sequences(_trajectory(replace(_trace([1], [2]), **change)))
