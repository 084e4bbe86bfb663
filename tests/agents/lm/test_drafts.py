"""A draft is what followed before; whatever it is, the tokens are those that come without it."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from codegym.agents.lm.engines.drafts import MOST, Heard, Own  # noqa: E402
from codegym.agents.lm.engines.transformers import TransformersEngine  # noqa: E402
from codegym.agents.lm.loading import load_model, load_tokenizer  # noqa: E402
from codegym.types import SamplingParams  # noqa: E402

pytestmark = pytest.mark.train

IDS = st.lists(st.integers(0, 3), max_size=40)


@given(IDS, IDS, st.integers(1, MOST))
def test_a_draft_is_what_followed_the_last_time(start, added, most):
    ids = list(start)
    own = Own(ids)
    for token in added:
        own.grow()
        ids.append(token)
    ends = [end for end in range(3, len(ids)) if ids[end - 3 : end] == ids[-3:]]
    assert own.draft(most) == (ids[ends[-1] :][:most] if ends and len(ids) >= 3 else [])


@given(st.lists(st.tuples(IDS, st.integers(0, 40)), max_size=4), IDS)
def test_what_was_heard_was_said(sequences, ids):
    heard = Heard()
    for sequence, said in sequences:
        heard.hear(sequence, said)
    draft = heard.draft(tuple(ids[-3:]), MOST)
    joined = [*ids[-3:], *draft]
    assert not draft or any(
        sequence[at : at + len(joined)] == joined
        for sequence, _ in sequences
        for at in range(len(sequence))
    )


@pytest.fixture(scope="module")
def model(tiny):
    return load_model(tiny, torch.device("cpu"), torch.float32)


@pytest.fixture
async def play(tiny, model):
    """Completions of the same prompts by an engine of its own; and how many tokens were guessed."""
    engines = []

    async def tokens(params):
        engines.append(TransformersEngine(model, load_tokenizer(tiny)))
        prompts = [np.random.default_rng(n).integers(3, 259, 40).tolist() * 2 for n in range(4)]
        said = []
        for _ in range(2):
            traces = await asyncio.gather(
                *(
                    engines[-1].generate(ids, replace(params, seed=n))
                    for n, ids in enumerate(prompts)
                )
            )
            said += [
                (trace.completion_ids, np.round(trace.logprobs, 3).tolist()) for trace in traces
            ]
        return said, engines[-1].guessed_tokens

    yield tokens
    for engine in engines:
        await engine.aclose()


def nothing(*_):
    return []


def wrong(_, *given):
    return np.random.default_rng(given[-1]).integers(3, 259, given[-1]).tolist()


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=0.0, max_tokens=40),
        SamplingParams(temperature=0.7, max_tokens=40),
    ],
    ids=["greedy", "sampled"],
)
async def test_no_draft_changes_a_token(play, params, monkeypatch):
    drafted, guessed = await play(params)
    for draft in (nothing, wrong):
        monkeypatch.setattr(Own, "draft", draft)
        monkeypatch.setattr(Heard, "draft", draft)
        without, few = await play(params)
        assert without == drafted
        assert few < guessed


async def test_what_was_said_before_takes_few_passes(play):
    """The second time, greedy completions are known from the first."""
    said, guessed = await play(SamplingParams(temperature=0.0, max_tokens=40))
    second = sum(len(ids) for ids, _ in said[4:])
    assert guessed >= second * 0.6
