"""Supervised learning from demonstrations: each token that a demonstrator would have written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from torch import Tensor

from codegym.agents.lm.loading import device_named, digest, find
from codegym.agents.lm.renderer import Renderer
from codegym.agents.lm.tiny import make_tiny
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.loop import RunConfig
from codegym.loop import Watcher as RunWatcher
from codegym.loop import run as run_loop
from codegym.registration import resolve
from codegym.runs import open_run
from codegym.training.batching import Batch
from codegym.training.checkpoint import Checkpoints
from codegym.training.demonstrations import Showing
from codegym.training.learner import Learner, Steps, Taken
from codegym.training.losses import token_mean
from codegym.training.models import for_training, load
from codegym.training.scoring import logprobs
from codegym.training.sequences import TokenSequence, sequences
from codegym.training.session import Budget, Session, Watcher
from codegym.types import Trajectory

_DEMONSTRATOR = "codegym.training.demonstrations:Demonstrator"


@dataclass(frozen=True, slots=True)
class SftConfig:
    """What to train: see ``codegym train sft --help``.

    Attributes:
        out: The folder; one that exists is gone on with.
        env_id: Gymnasium id of the tasks' presentation.
        model: A model's folder or name; None: a tiny one is made from the demonstrations.
        tasks: The task source; demonstrations are played on each of its tasks.
        batch: Demonstrations in a step, >= 1.
        lora: Rank of adapters; 0: all weights are trained.
        showing: How it is demonstrated.
        workers: Demonstrations played at once.
        options: How they are played.
    """

    out: Path
    env_id: str
    budget: Budget
    model: str | None = None
    tasks: str | None = None
    batch: int = 16
    how: Steps = field(default_factory=Steps)
    lora: int = 0
    device: str = "auto"
    seed: int = 0
    showing: Showing = field(default_factory=Showing)
    workers: int = 2
    sandbox: str = "auto"
    options: EpisodeOptions = field(default_factory=EpisodeOptions)

    def pins(self) -> dict[str, str]:
        """What makes it this training and no other."""
        return {
            "training": "sft",
            "env_id": self.env_id,
            "tasks": self.tasks or "",
            "tasks_digest": resolve(self.tasks).digest,
            "model": self.model or "tiny",
            "model_digest": digest(Path(self.model)) if self.model else "",
            "batch": str(self.batch),
            "learning_rate": str(self.how.learning_rate),
            "warmup": str(self.how.warmup),
            "lora": str(self.lora),
            "seed": str(self.seed),
            "showing": str(self.showing),
        }


async def train_sft(
    config: SftConfig, watcher: Watcher | None = None, runs: RunWatcher | None = None
) -> int:
    """Play demonstrations, where that was not done yet, and learn from them.

    Returns:
        Steps taken in all.

    Raises:
        UsageError: An option cannot be used, or the folder is of another training.
        UnavailableError: A part is missing, or memory does not suffice.
    """
    watcher = watcher or Watcher()
    device = device_named(config.device)  # what is not there is told before anything is played
    if config.model is not None:
        find(config.model)
    with Checkpoints(config.out, config.pins()) as folder:
        shown = await demonstrations(config, runs)
        watcher.note(f"{len(shown)} demonstrations")
        model, tokenizer = load(_model(config, shown), seed=config.seed)
        renderer = Renderer(tokenizer, config.options.toolbox.functions)
        examples = [s for each in shown for s in sequences(renderer.demonstrate(each))]
        examples = _fitting(examples, model.config.max_position_embeddings, watcher)
        model = for_training(model, device, lora=config.lora)
        learner = Learner(model, tokenizer, config.how)
        with Session(folder, learner, config.budget, watcher) as session:
            for batch in _batches(examples, config.batch, config.seed, start=session.number):
                if not session.goes_on:
                    break
                began = time.process_time()
                taken = imitate(learner, batch)
                session.done(
                    {
                        "loss": taken.loss,
                        "gradient_norm": taken.norm,
                        "tokens": float(sum(len(each.actions) for each in batch)),
                        "train_cpu_sec": time.process_time() - began,
                    }
                )
                await asyncio.sleep(0)  # where Ctrl-C is heard
            return session.number


def imitate(learner: Learner, batch: Sequence[TokenSequence]) -> Taken:
    """Take a step towards writing what was shown; each token counts alike."""
    count = sum(len(each.actions) for each in batch)

    def loss(part: Batch, states: Tensor) -> Tensor:
        return token_mean(-logprobs(learner.model, states, part.targets), count)

    return learner.update(batch, loss)


async def demonstrations(config: SftConfig, watcher: RunWatcher | None) -> list[Trajectory]:
    """The demonstrations that solve their task: a run of its own, in ``demonstrations``.

    Raises:
        UsageError: None does.
    """
    out = config.out / "demonstrations"
    wanted = RunConfig(
        env_id=config.env_id,
        out=out,
        policy=_DEMONSTRATOR,
        tasks=config.tasks,
        workers=config.workers,
        policy_options={key: str(value) for key, value in asdict(config.showing).items()},
        sandbox=config.sandbox,
        options=config.options,
    )
    await run_loop(wanted, watcher)
    run = open_run(out)
    solved = [one.index for one in run.episodes() if one.grade is not None and one.grade.solved]
    if not solved:
        raise UsageError(
            f"{out}: no demonstration solves its task, so there is nothing to learn from; look at "
            f"one with `codegym replay {out} --episode 0`"
        )
    return [run.episode(index).trajectory for index in solved]


def _model(config: SftConfig, shown: Sequence[Trajectory]) -> str:
    if config.model is not None:
        return config.model
    folder = config.out / "tiny"
    if not (folder / "config.json").exists():
        make_tiny(folder, _texts(shown), seed=config.seed)
    return str(folder)


def _texts(shown: Sequence[Trajectory]) -> Iterator[str]:
    """What a tokenizer of its own is made for."""
    for trajectory in shown:
        yield trajectory.first.instruction
        for turn in trajectory.turns:
            yield turn.action.text
            yield turn.observation.output


def _fitting(
    examples: Sequence[TokenSequence], longest: int, watcher: Watcher
) -> list[TokenSequence]:
    """Those that the model can read whole; none is cut."""
    kept = [each for each in examples if len(each.ids) <= longest]
    if len(kept) < len(examples):
        lost = len(examples) - len(kept)
        watcher.note(f"{lost} demonstrations are longer than the model's {longest} tokens")
    if not kept:
        raise UsageError(
            f"no demonstration fits into the model's {longest} tokens; give tasks with smaller "
            "files or a model with a larger context"
        )
    return kept


def _batches(
    examples: Sequence[TokenSequence], size: int, seed: int, *, start: int
) -> Iterator[list[TokenSequence]]:
    """Batches without end from number ``start`` on: each pass is an order of its own."""
    number, per_pass = start, max(1, len(examples) // size)
    while True:
        order = np.random.default_rng([seed, number // per_pass]).permutation(len(examples))
        for place in range(number % per_pass, per_pass):
            yield [examples[one] for one in order[place * size : (place + 1) * size]]
            number += 1
