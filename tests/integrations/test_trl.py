"""TRL's own trainer, on episodes in real sandboxes: a tiny model takes real optimiser steps."""

import json
from itertools import islice

import pytest
from support import make_tiny_home

pytest.importorskip("trl")
pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

FIX = (
    "python - <<'X'\nfrom pathlib import Path\np = Path('src/tinycalc/order.py')\n"
    "t = p.read_text()\n"
    "p.write_text(t.replace('return ordered[len(ordered) // 2]', "
    "'middle = len(ordered) // 2\\n    return (ordered[middle] + ordered[-middle - 1]) / 2'))\nX"
)


def call(name, **arguments):
    fields = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{fields}\n</tool_call>"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=2)


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")


@pytest.fixture
def tasks():
    from codegym.integrations import trl

    return trl.Tasks("tiny", "CodeGym/FixTests-v0", {"max_steps": 3}, seed=5)


@pytest.fixture
def model():
    from codegym.agents.lm.tiny import TinyShape, make_model, train_tokenizer

    tokenizer = train_tokenizer(["def f(x):\n    return x\n", "Task tiny-0\n"] * 20)
    return make_model(tokenizer, shape=TinyShape(hidden=32, layers=2, heads=2)), tokenizer


def trained(model, tmp_path, **more):
    """A trainer after two steps, each of two groups of two."""
    import trl as library

    network, tokenizer = model
    settings = library.GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_generations=2,
        max_steps=2,
        max_completion_length=900,
        learning_rate=1e-2,
        report_to=[],
        logging_steps=1,
        save_strategy="no",
        use_cpu=True,
        seed=3,
        accelerator_config={"dispatch_batches": False},
    )
    trainer = library.GRPOTrainer(network, args=settings, processing_class=tokenizer, **more)
    trainer.train()
    return trainer


def test_a_row_says_which_task_it_is_and_nothing_else(tasks):
    from codegym.integrations import trl
    from codegym.tasks import resolve

    rows = list(islice(iter(trl.dataset(tasks)), 6))
    assert {tuple(sorted(row)) for row in rows} == {("prompt", "task_id")}
    assert {row["task_id"] for row in rows} == {"tiny-0", "tiny-1"}
    again = islice(trl.Tasks("tiny", "CodeGym/FixTests-v0", seed=5).rows(), 6)
    assert [row["task_id"] for row in again] == [row["task_id"] for row in rows]
    text = json.dumps(rows)
    for line in resolve("tiny").get("tiny-0").patch.splitlines():
        assert not line.startswith("+   ") or line[1:].strip() not in text


def test_a_factory_starts_no_sandbox_until_there_is_an_episode(tasks):
    import inspect

    from transformers.utils import get_json_schema

    from codegym.integrations import trl

    one = trl.factory(tasks)()
    assert one._episode is None
    tools = [
        name
        for name, _ in inspect.getmembers(type(one), inspect.isfunction)
        if not name.startswith("_") and name not in {"reset", "get_reward"}
    ]
    assert tools == sorted(tasks.how.toolbox.tools)
    for name in tools:
        schema = get_json_schema(getattr(one, name))["function"]
        ours = tasks.how.toolbox.schemas[name]
        assert set(schema["parameters"]["properties"]) == set(ours["properties"])
        assert schema["parameters"].get("required", []) == list(ours.get("required", []))


def test_an_episode_is_played_by_calling_methods(tasks):
    from codegym.integrations import trl

    one = trl.factory(tasks)()
    assert "tests/test_order.py" in one.reset(prompt=[], task_id="tiny-0")
    assert one.bash(command=FIX) == "(no output)"
    assert one.get_reward() == 1.0  # it submits by itself
    assert "over" in one.bash(command="ls")
    one.reset(prompt=[], task_id="tiny-1")
    assert "no such" in one.bash(command="cat nothing; true").lower()
    one.submit()
    assert one.get_reward() == 0.0


def test_trl_trains_through_its_own_loop(tasks, model, tmp_path, monkeypatch):
    """The model is too small to call tools by itself: what it samples is given to it."""
    from trl import GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

    from codegym.integrations import trl

    network, tokenizer = model
    tokenizer.chat_template = qwen3_chat_template
    before = {name: value.clone() for name, value in network.named_parameters()}
    turns = [FIX, "true"]

    def single_turn(self, prompt_ids, *_):
        wanted = []
        for at, ids in enumerate(prompt_ids):
            text = tokenizer.decode(ids)
            command = turns[at % 2]
            done = "<tool_response>" in text
            said = "Done." if done else call("bash", command=command)
            wanted.append(tokenizer(said + "<|im_end|>")["input_ids"])
        return wanted, None

    monkeypatch.setattr(GRPOTrainer, "_generate_single_turn", single_turn)
    trainer = trained(
        model, tmp_path, train_dataset=trl.dataset(tasks), environment_factory=trl.factory(tasks)
    )
    assert trainer.state.global_step == 2
    rewards = [log["reward"] for log in trainer.state.log_history if "reward" in log]
    assert rewards == [0.5, 0.5]
    assert any((before[name] != value).any() for name, value in network.named_parameters())


def test_trl_trains_on_episodes_that_our_engine_plays(tasks, model, tmp_path):
    from codegym.integrations import trl

    network, _ = model
    before = {name: value.clone() for name, value in network.named_parameters()}
    seen = []

    def steps(reward, **more):
        """What a random model can earn: nothing solves, so longer answers stand in for rewards."""
        seen.append((trl.reward(reward), more["task_id"]))
        return [float(len(ids)) for ids in more["completion_ids"]]

    trainer = trained(
        model,
        tmp_path,
        train_dataset=trl.dataset(tasks),
        rollout_func=trl.rollouts(tasks, workers=2, max_tokens=12, context_tokens=1500),
        reward_funcs=[steps],
    )
    assert trainer.state.global_step == 2
    assert [rewards for rewards, _ in seen] == [[0.0] * 4] * 2
    for _, ids in seen:  # a group shares a task
        assert ids[0] == ids[1]
        assert ids[2] == ids[3]
    assert any((before[name] != value).any() for name, value in network.named_parameters())
