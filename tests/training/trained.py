"""A training that can be killed: ``python trained.py FOLDER STEPS`` says each step that it took."""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from codegym.training.checkpoint import Checkpoints
from codegym.training.learner import Learner, Steps
from codegym.training.sequences import Span, TokenSequence
from codegym.training.session import Budget, Session, Watcher
from codegym.training.sft import imitate

PINS = {"training": "test", "seed": "3"}


class NoTokenizer:
    """What a learner writes beside the model."""

    def save_pretrained(self, folder):
        """Write something."""
        (folder / "tokenizer.json").write_text("{}")


class Saying(Watcher):
    """Says each step."""

    def step(self, number, budget, values):
        print(number, flush=True)


def make_learner():
    config = LlamaConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    torch.manual_seed(1)
    return Learner(LlamaForCausalLM(config).eval(), NoTokenizer(), Steps(learning_rate=1e-2))


def batch_of(number):
    """What a step learns from: a function of its number."""
    rng = np.random.default_rng(number)
    ids = tuple(rng.integers(1, 48, size=24).tolist())
    mask = (True,) * 8 + (False,) * 16
    return [TokenSequence(ids, mask, (0.0,) * 24, (Span(0, 8, 24),))]


def train(folder, steps, watcher=None):
    learner = make_learner()
    with Checkpoints(folder, PINS) as checkpoints:
        budget = Budget(steps=steps, save_every=2)
        with Session(checkpoints, learner, budget, watcher or Watcher()) as session:
            while session.goes_on:
                noise = float(torch.rand(()))  # of the generator that a checkpoint puts back
                taken = imitate(learner, batch_of(session.number))
                session.done({"loss": taken.loss, "noise": noise})
    return learner


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]), Saying())
