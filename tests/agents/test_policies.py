"""Policies: what they do follows from the history alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.agents import Noop, Random, Replay, Scripted, load_policy
from codegym.envs.actions import Call, parse
from codegym.envs.tools import load_tools
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.runs import Pins, RunFolder
from codegym.types import Action, EpisodeResult, Grade, History, Observation, Task, Trajectory, Turn
from codegym.types import call as write_call

TOOLS = load_tools("default")
FIRST = Observation("do it", "", 50)


def history(turns: int = 0, *, seed: int = 0, task_id: str = "t") -> History:
    turn = Turn(Action(write_call("bash", command="ls")), FIRST, 0.0, 0.0)
    return History(task_id, tuple(TOOLS.functions), FIRST, (turn,) * turns, seed)


class NoTasks:
    """A source that nobody may look at."""

    digest = ""


async def test_noop_submits():
    assert (await Noop().act(history())).text == write_call("submit")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 60))
def test_random_actions_are_valid_and_repeat(seed, turns):
    import asyncio

    given = history(turns, seed=seed)
    action = asyncio.run(Random().act(given))
    assert isinstance(parse(action.text, TOOLS.schemas), Call), action.text
    assert asyncio.run(Random().act(given)) == action


async def test_random_uses_every_tool():
    names = {
        json.loads((await Random().act(history(turn, seed=seed))).text)["name"]
        for seed in range(10)
        for turn in range(20)
    }
    assert names == set(TOOLS.schemas)


async def test_scripted_takes_its_list_and_submits(tmp_path):
    path = tmp_path / "actions.jsonl"
    lines = [write_call("bash", command="echo é"), "", json.dumps("not an action")]
    path.write_text("\n".join(lines) + "\n")
    policy = load_policy(f"scripted:{path}", NoTasks())
    assert isinstance(policy, Scripted)
    taken = [(await policy.act(history(turn))).text for turn in range(4)]
    assert json.loads(taken[0]) == json.loads(lines[0])
    assert taken[1:] == ["not an action", write_call("submit"), write_call("submit")]
    assert policy.version == Scripted(actions=tuple(taken[:2])).version
    assert policy.version != Scripted(actions=tuple(taken[:1])).version


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'"ok"\n{"name":\n', r"actions\.jsonl:2: not JSON"),
        (b"[1]\n", r"actions\.jsonl:1: expected a tool call or a string"),
        (b"\xff\n", "cannot be read"),
    ],
)
def test_a_broken_script_is_told(tmp_path, content, told):
    path = tmp_path / "actions.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=told):
        Scripted(path=path)
    with pytest.raises(DataError, match="cannot be read"):
        Scripted(path=tmp_path / "absent.jsonl")


def record(run: RunFolder, index: int, task_id: str, seed: int, *commands: str) -> None:
    turns = tuple(
        Turn(Action(write_call("bash", command=command)), FIRST, 0.0, 0.0) for command in commands
    )
    task = Task(task_id, "e", "c", "p", ("x",), ())
    trajectory = Trajectory(task_id, "1", seed, FIRST, turns, terminated=True)
    run.finish(EpisodeResult(index, task, trajectory, Grade(0.0), 0.0))


@pytest.fixture
def recorded(tmp_path):
    pins = Pins("0", "id", "k", "t", "d", {}, {}, {}, "noop", "1", {}, 1, 0, {})
    with RunFolder(tmp_path / "run", pins) as run:
        record(run, 0, "a", 10, "one", "two")
        record(run, 1, "a", 11, "three")
        record(run, 2, "b", 12, "four")
    return tmp_path / "run"


async def test_replay_prefers_the_same_seed(recorded):
    policy = load_policy(f"replay:{recorded}", NoTasks())
    assert isinstance(policy, Replay)

    async def first(task_id: str, seed: int) -> str:
        return json.loads((await policy.act(history(task_id=task_id, seed=seed))).text)[
            "arguments"
        ]["command"]

    assert [await first("a", 10), await first("a", 11), await first("a", 99)] == [
        "one",
        "three",
        "one",
    ]
    ended = await policy.act(history(2, task_id="a", seed=10))
    assert ended.text == write_call("submit")
    with pytest.raises(NotFoundError, match="recorded episode of task"):
        await policy.act(history(task_id="c"))


async def test_replay_of_one_episode_fits_every_task(recorded):
    policy = Replay(run=f"{recorded}#2")
    assert "four" in (await policy.act(history(task_id="c", seed=5))).text
    with pytest.raises(NotFoundError, match="has no such"):
        Replay(run=f"{recorded}#9")
    with pytest.raises(UsageError, match="number is wanted"):
        Replay(run=f"{recorded}#x")


def test_unknown_names_say_the_nearest(tmp_path):
    with pytest.raises(NotFoundError, match="did you mean 'oracle'"):
        load_policy("orakle", NoTasks())
    with pytest.raises(NotFoundError, match="no run named"):
        load_policy(f"replay:{tmp_path}", NoTasks())
    with pytest.raises(NotFoundError, match="option of Noop"):
        load_policy("noop", NoTasks(), {"speed": "3"})


async def test_a_policy_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "my_policies.py").write_text(
        "from dataclasses import dataclass\n"
        "from codegym.types import Action\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    text: str\n"
        "    times: int = 1\n"
        "    version = '7'\n"
        "    async def act(self, history): return Action(self.text * self.times)\n"
        "class NotAPolicy: pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    policy = load_policy("my_policies:Mine", NoTasks(), {"text": "ab", "times": "2"})
    assert (await policy.act(history())).text == "abab"
    with pytest.raises(UsageError, match="needs the option 'text'"):
        load_policy("my_policies:Mine", NoTasks())
    with pytest.raises(UsageError, match="is no policy"):
        load_policy("my_policies:NotAPolicy", NoTasks())
