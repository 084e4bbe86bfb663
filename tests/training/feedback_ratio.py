"""Episodes to reach a rate, with hints and without: ``python -m training.feedback_ratio [SEEDS]``.

Beside the tests, and none itself. A tiny model is shown three ways to act, one of which is rewarded
(run the tests before the end), and to heed two rules' hints. Then it is trained by rewards, with
feedback and without: same seeds, same budget. Played at a desk (see there).
"""

import asyncio
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from support import make_tiny_home
from training.desk import Desk

from codegym.agents.lm.renderer import Renderer
from codegym.agents.lm.tiny import TinyShape, make_tiny
from codegym.envs.options import EpisodeOptions
from codegym.training.feedback import Feedback
from codegym.training.learner import Learner, Steps
from codegym.training.metrics import read_metrics
from codegym.training.models import load, save_model
from codegym.training.sequences import TokenSequence, sequences
from codegym.training.session import Budget
from codegym.training.sft import imitate
from codegym.training.trainer import RlConfig, train_rl
from codegym.types import Action, Observation, Trajectory, Turn, call

TOOLS = ("view", "edit", "run_tests", "submit")
OPTIONS = EpisodeOptions(kind="FixTests", tools=TOOLS, max_steps=3, reward="training.desk:Tested")
STEPS, GROUPS, SAMPLES, RATE, WINDOW = 40, 2, 8, 0.9, 3
HINTS = (
    f"Reminder: the tools are {', '.join(TOOLS)}; there are no others.",
    "Reminder: nothing was changed yet. Run the tests and repair the fault first.",
)


def _examples(renderer):
    first = Observation("Repair it.", "", 3)
    unknown = f"malformed action: no tool named 'grep'; tools: {', '.join(TOOLS)}"
    answers = {"run_tests": "1 failed\n", "submit": "submitted", "grep": unknown}
    shown = []
    for tools in (("run_tests", "submit"), ("submit",), ("submit",), ("grep", "submit")):
        turns = tuple(
            Turn(Action(call(tool)), Observation("Repair it.", answers[tool], 2 - n), 0.0, 0.0)
            for n, tool in enumerate(tools)
        )
        shown.append(renderer.demonstrate(Trajectory("t", "p", 0, first, turns)))
    (good, *_) = [sequences(each)[0] for each in shown]
    span = good.spans[0]
    for hint in HINTS:
        prompt = renderer.hinted(good.ids[: span.start], hint)
        said = good.ids[span.start : span.end]
        mask = (True,) * len(prompt) + (False,) * len(said)
        moved = replace(span, start=len(prompt), end=len(mask))
        yield TokenSequence((*prompt, *said), mask, (0.0,) * len(mask), (moved,))
    yield from (sequences(each)[0] for each in shown)


def beginner(folder, seed):
    """A model that knows how calls are written, and what it does when it is told."""
    texts = ["Repair it.", *HINTS, *(call(tool) for tool in (*TOOLS, "grep"))] * 4
    make_tiny(folder, texts, seed=seed, shape=TinyShape(48, 1, 2, 400, 512))
    model, tokenizer = load(str(folder))
    learner = Learner(model, tokenizer, Steps(learning_rate=5e-3))
    examples = list(_examples(Renderer(tokenizer, OPTIONS.toolbox.functions)))
    for _ in range(80):
        imitate(learner, examples)
    save_model(model, tokenizer, folder)


async def episodes(folder, init, seed, feedback):
    """Episodes until the mean reward of the last steps reaches the rate; all, where it does not."""
    out = folder / ("on" if feedback else "off")
    config = RlConfig(
        init=str(init), out=out, env_id="CodeGym/FixTests-v0", tasks="tiny",
        budget=Budget(steps=STEPS, save_every=STEPS), groups=GROUPS, samples=SAMPLES, seed=seed,
        how=Steps(learning_rate=6e-4), feedback=feedback, max_tokens=48, options=OPTIONS,
    )  # fmt: skip
    await train_rl(config, stage=Desk())
    rewards = [line["reward"] for line in read_metrics(out)]
    for step in range(WINDOW, len(rewards) + 1):
        if sum(rewards[step - WINDOW : step]) / WINDOW >= RATE:
            return step * GROUPS * SAMPLES, rewards
    return STEPS * GROUPS * SAMPLES, rewards


def main(seeds):
    """Print a line for each seed."""
    with tempfile.TemporaryDirectory() as name:
        home = make_tiny_home(Path(name) / "home", tasks=2)
        os.chdir(home)
        for seed in range(seeds):
            folder = Path(name) / str(seed)
            init = folder / "beginner"
            init.mkdir(parents=True)
            beginner(init, seed)
            off, without = asyncio.run(episodes(folder, init, seed, None))
            on, with_ = asyncio.run(episodes(folder, init, seed, Feedback()))
            print(f"seed {seed}: off {off}, on {on} episodes, ratio {off / on:.2f}", flush=True)
            print("  off", [round(one, 2) for one in without], flush=True)
            print("  on ", [round(one, 2) for one in with_], flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
