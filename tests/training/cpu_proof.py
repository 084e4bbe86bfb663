"""A tiny model learns from real gradings: ``python -m training.cpu_proof OUT [SEEDS]``.

Beside the tests, and none itself; ``test_cpu_proof`` plays its short form. All of it is commands
that anyone can give, each of which goes on where it was stopped: so does this, given again.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegym.evaluation import compare, open_evaluation
from codegym.evaluation.report import pairs_of
from codegym.training.metrics import read_metrics

SHOWN = ("comparison", "arithmetic", "changed_constant", "boolean")
UNSHOWN = (
    "off_by_one", "augmented_assignment", "loop_control", "swapped_operands", "wrong_variable",
)  # fmt: skip
KINDS = {"shown": SHOWN, "unshown": UNSHOWN}
#: One edit, told what fails and what the file is: what a model of a million parameters can read.
BRIEF = ("--tools", "edit", "--opening", "brief", "--max-steps", "1")
IN_TRAINING = ("--tools", "edit", "--set", "episode.opening=brief")
ENV = "CodeGym/FixTests-v0"


@dataclass(frozen=True)
class Size:
    """How long it takes.

    Attributes:
        tasks: Mutants by all operators, both sides together.
        sft_steps: Steps of 8 demonstrations.
        rl_steps: Steps of ``groups`` times ``samples`` episodes.
        measured: Episodes of each held-out task.
    """

    tasks: int = 900
    sft_steps: int = 3000
    rl_steps: int = 60
    groups: int = 16
    samples: int = 8
    measured: int = 4


class Proof:
    """The commands of one proof, given in its folder.

    Args:
        out: The folder.
        size: How long it takes.
    """

    def __init__(self, out: Path, size: Size) -> None:
        self.out, self._size = out, size
        out.mkdir(parents=True, exist_ok=True)

    def command(self, *arguments: object) -> dict:
        """What a command prints as JSON."""
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-m", "codegym", *map(str, arguments), "--json"],
            cwd=self.out,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    def make(self) -> None:
        """More mutants than are bundled: few demonstrations teach little that carries over."""
        self.command("generate", "demo-templates", "--operators", ",".join((*SHOWN, *UNSHOWN)),
                     "--count", self._size.tasks, "--detail", "low",
                     "--out", "packs/demo")  # fmt: skip

    def split(self) -> None:
        """Packs of the demonstrated operators, of the others, and of all of them."""
        for name, operators in {**KINDS, "all": (*SHOWN, *UNSHOWN)}.items():
            chosen = ("--operators", ",".join(operators), "--out", f"packs/{name}")
            self.command("pack", "split", "packs/demo", *chosen)

    def imitate(self, seed: int) -> Path:
        """Learn from demonstrations of the demonstrated operators."""
        out = f"runs/sft-{seed}"
        how = ("--tiny", "--batch", "8", "--lr", "2e-3", "--save-every", "250")
        shown = ("--no-run-tests", "--set", "demonstration.words=true",
                 "--set", "demonstration.around=0", "--set", "episode.max_steps=1")  # fmt: skip
        self.command("train", "sft", "--tasks", "packs/shown-train", "--out", out, "--seed", seed,
                     "--steps", self._size.sft_steps, *how, *shown, *IN_TRAINING)  # fmt: skip
        return self.out / out

    def reinforce(self, seed: int) -> Path:
        """Go on from rewards, which are gradings, on tasks of all operators."""
        size, out = self._size, f"runs/rl-{seed}"
        how = ("--groups", size.groups, "--samples", size.samples, "--max-action-tokens", "64")
        self.command("train", "rl", "--init", f"runs/sft-{seed}", "--tasks", "packs/all-train",
                     "--out", out, "--seed", seed, "--steps", size.rl_steps, "--memo",
                     "--max-steps", "1", *how, *IN_TRAINING)  # fmt: skip
        return self.out / out

    def measure(self, pack: str, policies: Sequence[str]) -> dict:
        """Rates on a pack, all gradings cold."""
        named = [part for policy in policies for part in ("--policy", policy)]
        return self.command("evaluate", *named, "--env", ENV, "--tasks", f"packs/{pack}",
                            "--samples", self._size.measured, "--no-baselines",
                            "--policy-option", "max_tokens=64", "--workers", "8",
                            "--out", f"evals/{pack}", *BRIEF)  # fmt: skip

    def guess(self, kind: str) -> dict:
        """What edits that know nothing reach on the same tasks, by the tools that they need."""
        return self.command("evaluate", "--policy", "random_edit", "--env", ENV,
                            "--tasks", f"packs/{kind}-held-out", "--samples", "1",
                            "--unigram-from", "packs/shown-train", "--max-steps", "12",
                            "--out", f"evals/{kind}-guessed")  # fmt: skip


def row(name: str, found: Mapping[str, dict]) -> str:
    """A line of the table: a policy's rate for each kind of operator."""
    cells = [
        f"{one['solve_rate']:.1%} ({one['ci95'][0]:.1%} to {one['ci95'][1]:.1%}) of {one['tasks']}"
        for one in found.values()
    ]
    return f"| {name} | {' | '.join(cells)} |"


def gain(out: Path, pack: str, seeds: int) -> str:
    """What rewards added to demonstrations, all seeds together; the interval is by tasks."""
    runs = {run.name: run for run in open_evaluation(out / f"evals/{pack}")}
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for seed in range(seeds):
        after, before = (runs[f"hf:runs/{name}-{seed}"] for name in ("rl", "sft"))
        for task, outcomes in pairs_of(after, before).items():
            pairs.setdefault(task, []).extend(outcomes)
    found = compare(pairs)
    low, high = (100 * bound for bound in found.ci95)
    return f"{100 * found.difference:+.1f} ({low:+.1f} to {high:+.1f}) points of {found.tasks}"


def gradings(folder: Path) -> str:
    """What a training's rewards cost."""
    lines = read_metrics(folder)
    total = {
        name: int(sum(each.get(name, 0.0) for each in lines))
        for name in ("episodes", "graded/unique", "graded/hits", "graded/again",
                     "graded/differences")
    }  # fmt: skip
    minutes = sum(each["rollout_sec"] + each["train_sec"] for each in lines) / 60
    return ", ".join(f"{count} {name}" for name, count in total.items()) + f", {minutes:.0f} min"


def main(out: Path, seeds: int) -> None:
    """Prove it with each seed, and print a table."""
    proof = Proof(out, Size())
    proof.make()
    proof.split()
    policies = []
    for seed in range(seeds):
        policies += [f"hf:{proof.imitate(seed).relative_to(out)}"]
        policies += [f"hf:{proof.reinforce(seed).relative_to(out)}"]
        print(f"seed {seed}: {gradings(out / f'runs/rl-{seed}')}", flush=True)
    rates = {
        kind: proof.measure(f"{kind}-held-out", policies) | proof.guess(kind) for kind in KINDS
    }
    print("| held-out functions | demonstrated operators | others |\n|---|---|---|")
    for name in next(iter(rates.values())):
        print(row(name, {kind: found[name] for kind, found in rates.items()}))
    gains = [gain(out, f"{kind}-held-out", seeds) for kind in KINDS]
    print(f"| gain by rewards | {' | '.join(gains)} |")


if __name__ == "__main__":
    began = time.monotonic()
    main(Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    print(f"{(time.monotonic() - began) / 60:.0f} minutes")
