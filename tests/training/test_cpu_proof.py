"""The CPU proof's short form: real sandboxes, real gradings, and a model that learns from them."""

import math
import re

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from training.cpu_proof import SHOWN, Proof, Size, gain

from codegym.registration import resolve
from codegym.tasks.holding_out import made_by
from codegym.tasks.packing import pack_of
from codegym.training.metrics import read_metrics

pytestmark = [pytest.mark.train, pytest.mark.timeout(900)]

SIZE = Size(sft_steps=200, rl_steps=2, groups=4, samples=4, measured=1)
#: What a task's tests return for other inputs is found out once, and costs most: so there are few.
SUITES = {"counts", "loops"}


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    """Where a model has learned from demonstrations."""
    found = Proof(tmp_path_factory.mktemp("proof"), SIZE)
    tasks = [task for task in made_by(resolve("demo-templates"), SHOWN) if task.suite in SUITES]
    for name in ("shown-train", "all-train"):
        pack_of(tasks, found.out / "packs" / name)
    found.imitate(0)
    return found


def test_what_was_demonstrated_is_learned(proof):
    losses = [each["loss"] for each in read_metrics(proof.out / "runs/sft-0")]
    assert len(losses) == SIZE.sft_steps
    assert sum(losses[-10:]) < 0.2 * sum(losses[:10])


def test_what_was_demonstrated_is_repaired_in_sandboxes(proof):
    found = proof.measure("shown-train", ["hf:runs/sft-0"])["hf:runs/sft-0"]
    assert found["tasks"] == found["graded"] == len(resolve(str(proof.out / "packs/shown-train")))
    assert found["ci95"][0] > 0.3


def test_rewards_are_gradings_and_what_was_graded_is_known(proof):
    told = read_metrics(proof.reinforce(0))
    assert len(told) == SIZE.rl_steps
    for each in told:
        graded = [each[f"graded/{name}"] for name in ("unique", "hits", "again")]
        assert sum(graded) == each["episodes"] == SIZE.groups * SIZE.samples
        assert each["faults"] == each["graded/differences"] == 0
        assert math.isfinite(each.get("loss", 0.0))
        assert abs(each.get("sampler_kl", 0.0)) < 1e-3
    assert sum(each["graded/unique"] for each in told) > 0
    assert sum(each["graded/hits"] for each in told) > 0
    assert all(each["solved"] > 0 for each in told)


def test_what_rewards_add_is_told(proof):
    policies = ["hf:runs/sft-0", f"hf:{proof.reinforce(0).relative_to(proof.out)}"]
    found = proof.measure("shown-train", policies)
    told = gain(proof.out, "shown-train", 1)
    points, tasks = re.match(
        r"([+-][\d.]+) \([+-][\d.]+ to [+-][\d.]+\) points of (\d+)", told
    ).groups()
    before, after = (found[policy]["solve_rate"] for policy in policies)
    assert float(points) == pytest.approx(100 * (after - before), abs=0.06)
    assert int(tasks) == found[policies[0]]["tasks"]
