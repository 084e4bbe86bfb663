"""Figures of a language model in this process: episodes that wait for sandboxes, and tokens."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from codegym.agents import Scripted
from codegym.cli.bench import learning
from codegym.cli.bench.measure import Figure, figure
from codegym.cli.bench.staged import OUTPUT, RESET_SEC, TOOL_SEC, One, Staged
from codegym.cli.options import BUNDLED
from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.errors import PolicyError
from codegym.registration import resolve
from codegym.types import (
    Action,
    History,
    Policy,
    SamplingParams,
    TokenTrace,
    Trajectory,
    Turn,
    call,
)

_EPISODES, _CALLS = 8, 2
_OPTIONS = EpisodeOptions(kind="FixTests", max_steps=_CALLS)
_ACTION = call("bash", command="pytest")
_BATCH, _PROMPT, _SAID = 32, 200, 32
_LESSONS, _KNOWN = 200, 0.03


def measure(note: Callable[[str], None], times: int) -> list[Figure]:
    """All figures.

    Args:
        note: Told what is being done.
        times: Each is measured a tenth as often.

    Raises:
        UnavailableError: A library of the extra ``train`` is missing.
    """
    from codegym.agents.lm.loading import need

    need("train", "torch", "transformers", "jinja2")
    with tempfile.TemporaryDirectory(prefix="codegym-bench-") as folder:
        return asyncio.run(_measure(note, max(1, times // 10), Path(folder)))


async def _measure(note: Callable[[str], None], repeats: int, folder: Path) -> list[Figure]:
    from codegym.agents.lm import TokenPolicy
    from codegym.agents.lm.engines.transformers import TransformersEngine
    from codegym.agents.lm.loading import device_named
    from codegym.agents.lm.tiny import make_model, train_tokenizer

    setting, source = Staged(folder), One(next(iter(resolve(BUNDLED))))
    episode = Episode(setting, _OPTIONS)
    await episode.reset(source.task)
    history = episode.history
    await episode.close()

    tokenizer = train_tokenizer([history.first.instruction, *[_ACTION] * 50])
    model = make_model(tokenizer).to(device_named("auto"))
    engine = TransformersEngine(model, tokenizer, max_batch=_BATCH)
    policy = TokenPolicy(engine, tokenizer, SamplingParams(temperature=0.0, max_tokens=64))
    note("teaching a tiny model one action")
    _teach(model, _traces(policy, history))
    await engine.refresh("taught")

    note("measuring rollouts")
    figures = [await _rollouts(setting, source, policy, repeats)]
    note("measuring generation")
    figures += await _generation(engine, model, repeats)
    await engine.aclose()
    await setting.close()
    note("measuring a step of learning")
    return [*figures, await learning.step(tokenizer, repeats)]


async def _rollouts(setting: Staged, source: One, policy: Policy, repeats: int) -> Figure:
    """Episodes that wait for their sandboxes at the same time."""
    ready = Scripted(actions=(_ACTION,) * _CALLS)
    await _play(setting, source, policy)  # what is made once is made
    values = [await _play(setting, source, policy) for _ in range(repeats)]
    floors = [await _play(setting, source, ready) for _ in range(repeats)]
    return figure(
        "rollout8_s",
        values,
        floors,
        target=1.4,
        what=f"{_EPISODES} episodes at once, each a reset of {RESET_SEC} s and {_CALLS} calls of "
        f"{TOOL_SEC} s, played by a tiny model that has said its call before",
        against="the same with actions that need no model",
    )


async def _play(setting: Staged, source: One, policy: Policy) -> float:
    """Seconds of all episodes."""
    playing = Rollouts(setting, source, _OPTIONS, workers=_EPISODES)
    began = time.perf_counter()
    async with aclosing(playing.run(policy, samples=_EPISODES)) as results:
        played = [result async for result in results]
    seconds = time.perf_counter() - began
    said = {turn.action.text for result in played for turn in result.trajectory.turns}
    if said != {_ACTION}:
        raise PolicyError(f"the tiny model did not say what it was taught, but {said}")
    return seconds


async def _generation(engine: Any, model: Any, repeats: int) -> list[Figure]:
    """Tokens a second, and what share that is of what the device multiplies in the time."""
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(repeats + 1):
        prompts = rng.integers(3, 250, size=(_BATCH, _PROMPT)).tolist()
        began = time.perf_counter()
        traces: Sequence[TokenTrace] = await asyncio.gather(
            *(
                engine.generate(ids, SamplingParams(max_tokens=_SAID, seed=number))
                for number, ids in enumerate(prompts)
            )
        )
        count = sum(len(trace.completion_ids) for trace in traces)
        rates.append(count / (time.perf_counter() - began))
    work = 2 * sum(each.numel() for each in model.parameters())
    peak = _multiplications(model)
    shares = [rate * work / peak for rate in rates[1:]]
    asked = f"{_BATCH} prompts of {_PROMPT} tokens, up to {_SAID} sampled for each"
    product = f"those of a large matrix product on this device ({model.device})"
    return [
        figure("tokens_per_s", rates[1:], [], target=None, what=asked, against=""),
        figure(
            "generation_peak_share",
            shares,
            [],
            target=None,
            what=f"multiplications for sampled tokens a second, divided by {product}",
            against="",
        ),
    ]


def _multiplications(model: Any, size: int = 2048) -> float:
    """Multiplications and additions a second in a product of two matrices, best of a few."""
    import torch

    best = 0.0
    with torch.inference_mode():
        one = torch.ones((size, size), dtype=model.dtype, device=model.device)
        for _ in range(4):
            began = time.perf_counter()
            (one @ one)[0, 0].item()  # waits for it
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def _traces(policy: Any, history: History) -> list[TokenTrace]:
    """The tokens of an episode in which the one action is taken again and again."""
    turns = []
    for number in range(_CALLS):
        left = history.first.steps_left - 1 - number
        seen = replace(history.first, output=OUTPUT, steps_left=left, last_exit_code=1)
        turns.append(Turn(Action(_ACTION), seen, 0.0, 0.0))
    played = Trajectory(history.task_id, "", 0, history.first, tuple(turns))
    told = policy.renderer(history.tools).demonstrate(played).turns
    return [turn.action.tokens for turn in told if turn.action.tokens is not None]


def _teach(model: Any, traces: Sequence[TokenTrace]) -> None:
    """Teach a model one sequence by heart."""
    import torch

    last = traces[-1]
    ids = torch.tensor([[*last.prompt_ids, *last.completion_ids]], device=model.device)
    places = [
        len(trace.prompt_ids) - 1 + number
        for trace in traces
        for number in range(len(trace.completion_ids))
    ]
    wanted = ids[0, 1:][places]
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    for _ in range(_LESSONS):
        logits = model(ids).logits[0, places].float()
        loss = torch.nn.functional.cross_entropy(logits, wanted)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if loss.item() < _KNOWN:
            return
