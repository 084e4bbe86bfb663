"""Whole trainings, with a tiny model: they learn, go on exactly, and say what is wrong."""

import contextlib
import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from support import make_tiny_home  # noqa: E402
from training.desk import Desk  # noqa: E402

from codegym.agents.lm.renderer import Renderer  # noqa: E402
from codegym.agents.lm.tiny import TinyShape, make_tiny  # noqa: E402
from codegym.envs.options import EpisodeOptions  # noqa: E402
from codegym.envs.rollouts import Rollouts  # noqa: E402
from codegym.errors import DataError, NotFoundError, UnavailableError, UsageError  # noqa: E402
from codegym.registration import resolve  # noqa: E402
from codegym.training.checkpoint import STATE_FILE  # noqa: E402
from codegym.training.demonstrations import Demonstrator  # noqa: E402
from codegym.training.feedback import Feedback  # noqa: E402
from codegym.training.learner import Learner, Steps  # noqa: E402
from codegym.training.metrics import read_metrics  # noqa: E402
from codegym.training.models import load, save_model  # noqa: E402
from codegym.training.objective import Objective  # noqa: E402
from codegym.training.sequences import sequences  # noqa: E402
from codegym.training.session import Budget, Watcher  # noqa: E402
from codegym.training.sft import SftConfig, imitate, train_sft  # noqa: E402
from codegym.training.trainer import RlConfig, train_rl  # noqa: E402
from codegym.types import Action, Turn, call  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.timeout(400)]

ENV = "CodeGym/FixTests-v0"
TOOLS = ("view", "edit", "run_tests", "submit")
OPTIONS = EpisodeOptions(kind="FixTests", tools=TOOLS, max_steps=3)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=2)


@pytest.fixture(autouse=True)
def _there(home, monkeypatch):
    monkeypatch.chdir(home)


def _shortened(trajectory):
    """Only the tests and the end, and a variant that gives up at once."""
    first = Turn(Action(call("run_tests")), replace(trajectory.first, output="1 failed\n"), 0, 0)
    last = Turn(Action(call("submit")), replace(trajectory.first, output="submitted"), 0, 0)
    wrong = Turn(
        Action(call("grep")),
        replace(trajectory.first, output=f"malformed action: no tool named 'grep'; tools: {TOOLS}"),
        0,
        0,
    )
    return [replace(trajectory, turns=turns) for turns in ((first, last), (last,), (wrong, last))]


@pytest.fixture(scope="module")
def beginner(home, tmp_path_factory):
    """A model that knows how calls are written, and does one of three things."""
    folder = tmp_path_factory.mktemp("models") / "beginner"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        shown = _shown(home)
    examples = _shortened(shown[0])
    texts = [shown[0].first.instruction, *(t.action.text for e in examples for t in e.turns)]
    make_tiny(folder, texts, shape=TinyShape(48, 1, 2, 400, 512))
    model, tokenizer = load(str(folder))
    renderer = Renderer(tokenizer, OPTIONS.toolbox.functions)
    batch = [s for each in examples for s in sequences(renderer.demonstrate(each))]
    learner = Learner(model, tokenizer, Steps(learning_rate=5e-3))
    for _ in range(60):
        loss = imitate(learner, batch).loss
    assert loss < 0.3
    save_model(model, tokenizer, folder)
    return folder


def _shown(home):
    import asyncio

    async def play():
        source, policy = resolve("tiny"), Demonstrator()
        policy.reveal(source)
        options = replace(OPTIONS, max_steps=9)
        return [r.trajectory async for r in Rollouts(Desk(), source, options).run(policy)]

    return asyncio.run(play())


def _config(beginner, out, **changed):
    given = {
        "init": str(beginner),
        "out": out,
        "env_id": ENV,
        "budget": Budget(steps=4, save_every=2),
        "tasks": "tiny",
        "groups": 2,
        "samples": 4,
        "how": Steps(learning_rate=6e-4),
        "max_tokens": 48,
        "options": replace(OPTIONS, reward="training.desk:Tested"),
    }
    return RlConfig(**(given | changed))


def test_a_demonstration_solves_its_task(home):
    shown = _shown(home)
    assert [turn.reward for turn in shown[0].turns][-1] == 1.0
    tools = [json.loads(turn.action.text)["name"] for turn in shown[0].turns]
    assert tools[:2] == ["view", "edit"]
    assert tools[-2:] == ["run_tests", "submit"]


async def test_it_learns_what_is_rewarded(beginner, tmp_path):
    desk, how = Desk(), Steps(learning_rate=6e-4)
    config = _config(beginner, tmp_path / "rl", budget=Budget(steps=15), samples=8, how=how)
    assert await train_rl(config, stage=desk) == 15
    told = read_metrics(config.out)
    assert desk.played == 15 * 16
    rewards = [each["reward"] for each in told]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:3]) / 3 + 0.2
    assert max(abs(each.get("sampler_kl", 0.0)) for each in told) < 1e-4


async def test_it_goes_on_exactly_where_it_was_stopped(beginner, tmp_path):
    def budget(steps):
        return Budget(steps=steps, save_every=1)

    feedback = Feedback(teacher="ema")
    whole = _config(beginner, tmp_path / "a" / "rl", budget=budget(4), feedback=feedback)
    await train_rl(whole, stage=Desk())
    parts = replace(whole, out=tmp_path / "b" / "rl", budget=budget(2))
    await train_rl(parts, stage=Desk())
    await train_rl(replace(parts, budget=budget(4), workers=3), stage=Desk())
    one, other = _state(whole.out), _state(parts.out)
    pairs = zip(one["weights"] + one["teacher"], other["weights"] + other["teacher"], strict=True)
    for mine, theirs in pairs:
        assert torch.allclose(mine, theirs, atol=1e-5)
    assert one["number"] == other["number"] == 4


def _state(out):
    return torch.load(out / "checkpoints" / "latest" / STATE_FILE, weights_only=True)


async def test_episodes_that_are_lost_are_no_evidence(beginner, tmp_path):
    config = _config(beginner, tmp_path / "rl", groups=6, budget=Budget(steps=1))
    await train_rl(config, stage=Desk(lost=frozenset({"tiny-0"})))
    (told,) = read_metrics(config.out)
    assert 0 < told["faults"] < told["episodes"] == 24
    assert told["reward"] > 0


async def test_where_all_are_lost_it_stops_and_says_why(beginner, tmp_path):
    config = _config(beginner, tmp_path / "rl")
    desk = Desk(lost=frozenset({"tiny-0", "tiny-1"}))
    with pytest.raises(UnavailableError, match="none of 8 episodes could be graded: the sandbox"):
        await train_rl(config, stage=desk)
    assert (config.out / "model.safetensors").exists()


async def test_a_changed_pack_is_refused_by_name(beginner, tmp_path, home):
    rows = tmp_path / "rows.jsonl"
    given = (home / ".codegym" / "environments" / "tiny" / "tasks.jsonl").read_text()
    rows.write_text(given)
    config = _config(beginner, tmp_path / "rl", tasks=str(rows), budget=Budget(steps=1))
    await train_rl(config, stage=Desk())
    rows.write_text(given.splitlines(keepends=True)[0])
    with pytest.raises(UsageError, match="tasks_digest was"):
        await train_rl(replace(config, budget=Budget(steps=2)), stage=Desk())


async def test_a_changed_model_and_a_changed_option_are_refused_by_name(beginner, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(beginner, mine)
    config = _config(mine, tmp_path / "rl", budget=Budget(steps=1))
    await train_rl(config, stage=Desk())
    with pytest.raises(UsageError, match="samples was '4', is '3'"):
        await train_rl(replace(config, samples=3), stage=Desk())
    with (mine / "config.json").open("a") as file:
        file.write("\n")
    with pytest.raises(UsageError, match="init_digest was"):
        await train_rl(config, stage=Desk())


CURRICULUM = """\
name = "dry"
summary = "Mastered from the start"
[pool]
tasks = ["tiny"]
mastered = {mastered}
[sampler]
name = "uniform"
"""


class _Notes(Watcher):
    def __init__(self):
        self.said = []

    def note(self, text):
        self.said.append(text)


async def test_a_curriculum_that_runs_dry_ends_it_well(beginner, tmp_path):
    spec = tmp_path / "dry.toml"
    spec.write_text(CURRICULUM.format(mastered=0.01))
    config = _config(beginner, tmp_path / "rl", tasks=f"curriculum:{spec}")
    notes = _Notes()
    assert await train_rl(config, notes, Desk()) < 4
    assert "nothing is left to be drawn" in notes.said[-1]
    assert "the pool is exhausted" in notes.said[-1]
    assert (config.out / "model.safetensors").exists()


async def test_a_curriculum_is_gone_on_from_where_the_checkpoint_was(beginner, tmp_path, home):
    spec = tmp_path / "open.toml"
    spec.write_text(CURRICULUM.format(mastered=1.0))
    config = _config(
        beginner, tmp_path / "rl", tasks=f"curriculum:{spec}", budget=Budget(steps=2, save_every=1)
    )
    await train_rl(config, stage=Desk())
    kept = (config.out / "curriculum.sqlite").read_bytes()
    (config.out / "curriculum.sqlite").write_bytes(b"of a step that was lost")
    await train_rl(config, stage=Desk())
    assert (config.out / "curriculum.sqlite").read_bytes() == kept
    assert not (home / ".codegym" / "curricula").exists()


class _StoppedError(Exception):
    pass


class _Stopping(Watcher):
    """Stops when the second step's first group has ended."""

    def __init__(self):
        self.ended = 0

    def episode(self, done, total):
        self.ended += 1
        if self.ended == 3:
            raise _StoppedError


async def test_what_a_step_saw_that_was_stopped_is_not_kept(beginner, tmp_path):
    spec = tmp_path / "open.toml"
    spec.write_text(CURRICULUM.format(mastered=1.0))
    config = _config(beginner, tmp_path / "rl", tasks=f"curriculum:{spec}", budget=Budget(steps=3))
    with pytest.raises(_StoppedError):
        await train_rl(config, _Stopping(), Desk())
    latest = config.out / "checkpoints" / "latest" / "outcomes"
    assert _observed(latest / "curriculum.sqlite") == 2
    assert _observed(config.out / "curriculum.sqlite") == 3
    assert await train_rl(config, stage=Desk()) == 3
    assert _observed(config.out / "curriculum.sqlite") == 6


def _observed(file):
    """How many groups a curriculum was told of."""
    with contextlib.closing(sqlite3.connect(file)) as base:
        return base.execute("SELECT count(*) FROM events").fetchone()[0]


async def test_a_step_of_which_an_update_fails_is_in_no_checkpoint(beginner, tmp_path, monkeypatch):
    really, calls = Learner.update, []

    def update(self, *given):
        calls.append(1)
        if len(calls) == 8:
            raise UsageError("the loss is nan")
        return really(self, *given)

    monkeypatch.setattr(Learner, "update", update)
    how = {"objective": Objective(updates=2), "budget": Budget(steps=9, save_every=2)}
    config = _config(beginner, tmp_path / "rl", **how)
    with pytest.raises(UsageError, match="the loss is nan"):
        await train_rl(config, stage=Desk())
    state = _state(config.out)
    assert (state["number"], state["step"]) == (2, 4)


async def test_a_group_of_one_is_refused(beginner, tmp_path):
    with pytest.raises(UsageError, match="at least 2 episodes, got 1"):
        await train_rl(_config(beginner, tmp_path / "rl", samples=1), stage=Desk())


async def test_a_memo_is_refused_where_a_score_is_not_enough(beginner, tmp_path):
    config = _config(beginner, tmp_path / "rl", memo=True)
    with pytest.raises(UsageError, match=r"--set episode.reward=solved and --feedback off"):
        await train_rl(config, stage=Desk())
    config = replace(config, options=replace(OPTIONS, reward="solved"))
    with pytest.raises(UsageError, match="sandboxes of this process alone"):
        await train_rl(config, stage=Desk())
    with pytest.raises(UsageError, match="--feedback off"):
        await train_rl(replace(config, feedback=Feedback()), stage=Desk())


# A step that cannot be taken


def test_a_loss_that_is_no_number_stops_before_the_step(tiny_model, make_sequence):
    class NoTokenizer:
        pass

    learner = Learner(tiny_model, NoTokenizer(), Steps())
    before = [weight.clone() for weight in tiny_model.parameters()]
    with pytest.raises(UsageError, match=r"step 1: the loss is nan .* --learning-rate"):
        learner.update([make_sequence(1)], lambda batch, states: states.sum() * float("nan"))
    assert all(map(torch.equal, before, tiny_model.parameters()))
    assert learner.sound()
    assert learner.step == 0


def test_weights_that_are_no_numbers_any_more_are_told(tiny_model, make_sequence):
    learner = Learner(tiny_model, None, Steps())
    with torch.no_grad():
        next(tiny_model.parameters()).view(-1)[0] = float("inf")
    with pytest.raises(UsageError, match=r"step 1 made weights that are no numbers.*learning-rate"):
        learner.update(
            [make_sequence(1)], lambda batch, states: states[:, :1].nan_to_num().sum() * 0
        )


def test_memory_that_does_not_suffice_is_told(tiny_model, make_sequence):
    learner = Learner(tiny_model, None, Steps())

    def huge(batch, states):
        return torch.empty(1 << 55).sum()

    with pytest.raises(UnavailableError, match=r"not enough memory .* --max-tokens"):
        learner.update([make_sequence(1)], huge)


def test_training_without_an_end_is_refused():
    with pytest.raises(UsageError, match="give --steps or --minutes"):
        Budget()
    for minutes in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="minutes: must be above 0"):
            Budget(minutes=minutes)


async def test_a_device_that_is_not_there_is_told_before_anything_is_played(tmp_path):
    with pytest.raises(UnavailableError, match="device=cuda:99"):
        await train_rl(_config("nowhere", tmp_path / "rl", device="cuda:99"), stage=Desk())
    config = SftConfig(tmp_path / "sft", ENV, Budget(steps=1), tasks="none", device="cuda:99")
    with pytest.raises(UnavailableError, match="device=cuda:99"):
        await train_sft(config)


async def test_a_model_that_is_none_is_named_and_nothing_is_made_for_it(beginner, tmp_path):
    with pytest.raises(DataError, match="this is no model's folder"):
        load(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be loaded as a causal language model"):
        load(str(tmp_path))
    nowhere = str(tmp_path / "mistyped")
    with pytest.raises(NotFoundError, match=r"no model named '.*mistyped'"):
        await train_rl(_config(nowhere, tmp_path / "rl"), stage=Desk())
    assert not (tmp_path / "rl").exists()
