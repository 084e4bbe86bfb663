"""What a step of reinforcement learning costs without its sandboxes: sampling, and learning."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from codegym.cli.bench.measure import Figure, figure
from codegym.types import SamplingParams, TokenTrace

_GROUPS, _SAMPLES, _PROMPT, _SAID = 24, 8, 120, 12


async def step(tokenizer: Any, repeats: int) -> Figure:
    """CPU seconds of a step of short episodes, all of which have an advantage."""
    from codegym.agents.lm.engines.transformers import TransformersEngine
    from codegym.agents.lm.loading import device_named
    from codegym.agents.lm.tiny import make_model
    from codegym.training.learner import Learner, Steps
    from codegym.training.objective import Improver, Objective

    model = make_model(tokenizer).to(device_named("auto"))
    engine = TransformersEngine(model, tokenizer, max_batch=_GROUPS * _SAMPLES)
    improver = Improver(Learner(model, tokenizer, Steps()), Objective(), None)
    rng, values = np.random.default_rng(0), []
    for number in range(repeats + 1):
        await engine.refresh(str(number))
        prompts = rng.integers(3, 250, size=(_GROUPS, _PROMPT)).tolist()
        began = time.process_time()
        traces: Sequence[TokenTrace] = await asyncio.gather(
            *(
                engine.generate(ids, SamplingParams(max_tokens=_SAID, seed=seed))
                for ids in prompts
                for seed in range(_SAMPLES)
            )
        )
        improver.improve(_experience(traces))
        values.append(time.process_time() - began)
    await engine.aclose()
    said = sum(len(trace.completion_ids) for trace in traces)
    return figure(
        "cpu_s_per_step",
        values[1:],
        [],
        target=2.0,
        what=f"{_GROUPS} prompts of {_PROMPT} tokens, {_SAMPLES} completions of each ({said} "
        "tokens in all), and a step on them, by a tiny model; sandboxes apart",
        against="",
    )


def _experience(traces: Sequence[TokenTrace]) -> Any:
    from codegym.training.experience import Experience
    from codegym.training.sequences import sequences
    from codegym.types import Action, Observation, Trajectory, Turn

    seen = Observation("", "", 0)
    turns = [Turn(Action("", tokens=trace), seen, 0.0, 0.0) for trace in traces]
    made = [each for turn in turns for each in sequences(Trajectory("", "", 0, seen, (turn,)))]
    advantages = tuple(0.5 if number % 2 else -0.5 for number in range(len(made)))
    return Experience(tuple(made), advantages, tuple(() for _ in made), {})
