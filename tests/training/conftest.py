"""A model small enough that a step takes milliseconds, and sequences for it."""

import numpy as np
import pytest

from codegym.training.sequences import Span, TokenSequence

VOCABULARY = 48


@pytest.fixture
def tiny_model():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        initializer_range=0.2,  # so that what comes before matters
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture
def make_sequence():
    def make(seed, turns=2, longest=9):
        """A conversation of ``turns`` turns."""
        rng = np.random.default_rng(seed)
        ids, mask, spans = [], [], []
        for turn in range(turns):
            asked, said = rng.integers(1, longest, size=2)
            ids += rng.integers(1, VOCABULARY, size=asked + said).tolist()
            mask += [True] * int(asked) + [False] * int(said)
            spans.append(Span(turn, len(ids) - int(said), len(ids)))
        logprobs = [0.0 if masked else -float(rng.random()) for masked in mask]
        return TokenSequence(tuple(ids), tuple(mask), tuple(logprobs), tuple(spans))

    return make
