"""A run against real sandboxes: stopped in every way, and resumed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support import make_tiny_home

from codegym.agents import Scripted
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.errors import UsageError
from codegym.loop import RunConfig, Watcher, open_setting, pin, run
from codegym.runs import RunFolder, open_run
from codegym.runs.recorder import Recorder
from codegym.store.cache import cache_dir
from codegym.tasks import resolve
from codegym.types import call

ID = "CodeGym/FixTests-v0"
PREPARED = 4


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=PREPARED)


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


class Counter(Watcher):
    def __init__(self) -> None:
        self.told = []

    def begin(self, total, finished):
        self.told.append((total, finished))

    def end(self, record):
        self.told.append(record.index)


def config(out: Path, policy: str = "oracle", **more) -> RunConfig:
    options = EpisodeOptions(kind="FixTests")
    return RunConfig(ID, out, policy, "tiny", workers=2, options=options, **more)


async def test_the_oracle_solves_and_noop_does_not(tmp_path):
    watcher = Counter()
    solved = await run(config(tmp_path / "oracle", samples=2), watcher)
    assert (solved.solve_rate, solved.episodes, solved.faults) == (1.0, 2 * PREPARED, 0)
    assert watcher.told[0] == (2 * PREPARED, 0)
    assert sorted(watcher.told[1:]) == list(range(2 * PREPARED))
    failed = await run(config(tmp_path / "noop", policy="noop"))
    assert (failed.solve_rate, failed.episodes, failed.faults) == (0.0, PREPARED, 0)

    episode = open_run(tmp_path / "oracle").episode(3)
    assert episode.task.instance_id == "tiny-1"
    assert [change.path for change in episode.work.changes] == ["src/tinycalc/order.py"]
    assert episode.diff.startswith("diff --git a/src/tinycalc/order.py")
    assert json.loads(episode.trajectory.turns[-1].action.text)["name"] == "submit"
    assert episode.attestation.clean
    assert episode.attestation.found
    seeds = {record.seed for record in open_run(tmp_path / "oracle").episodes()}
    assert len(seeds) == 2 * PREPARED


async def test_a_finished_run_is_not_run_again(tmp_path):
    first = await run(config(tmp_path))
    lines = (tmp_path / "episodes.jsonl").read_bytes()
    watcher = Counter()
    assert await run(config(tmp_path), watcher) == first
    assert watcher.told == [(PREPARED, PREPARED)]
    assert (tmp_path / "episodes.jsonl").read_bytes() == lines


async def test_another_policy_is_refused_in_its_folder(tmp_path):
    await run(config(tmp_path, policy="noop"))
    with pytest.raises(UsageError, match="policy was 'noop', is 'oracle'"):
        await run(config(tmp_path))
    changed = EpisodeOptions(kind="FixTests", max_steps=7)
    with pytest.raises(UsageError, match=r"options\.max_steps was '50', is '7'"):
        await run(replace(config(tmp_path, policy="noop"), options=changed))


async def test_a_replay_repeats_what_a_run_did(tmp_path):
    await run(config(tmp_path / "first"))
    again = await run(config(tmp_path / "second", policy=f"replay:{tmp_path / 'first'}"))
    assert again.solve_rate == 1.0
    for index in range(PREPARED):
        one, two = (open_run(tmp_path / name).episode(index) for name in ("first", "second"))
        assert one.work == two.work
        assert [turn.action for turn in one.trajectory.turns] == [
            turn.action for turn in two.trajectory.turns
        ]


async def test_random_never_faults(tmp_path):
    summary = await run(
        replace(
            config(tmp_path, policy="random", samples=2),
            options=EpisodeOptions(kind="FixTests", max_steps=8),
        )
    )
    assert (summary.episodes, summary.faults) == (2 * PREPARED, 0)


SLOW = [call("bash", command="sleep 0.3; echo $RANDOM >> src/trace")] * 3

STOPPABLE = """
import asyncio, sys
from pathlib import Path
from codegym.cli.app import app
app(["run", "CodeGym/FixTests-v0", "--tasks", "tiny", "--policy", "scripted:slow.jsonl",
     "--out", sys.argv[1], "--workers", "2"])
"""


def descendants(pid: int) -> set[int]:
    found, waiting = set(), [pid]
    while waiting:
        for task in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            children = {int(child) for child in task.read_text().split()}
            waiting += children - found
            found |= children
    return found


def alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def our_mounts(folder):
    """Those of the host that have to do with our folders; a container engine may run beside us."""
    named = (str(cache_dir()), str(folder), "/newroot", "/oldroot")
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if any(name in line for name in named)]


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)]
)
def test_stopped_half_way_nothing_is_left_and_it_goes_on(home, tmp_path, sent, status):
    (home / "slow.jsonl").write_text("\n".join(SLOW))
    out = tmp_path / "run"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = {**os.environ, "TMPDIR": str(temporary)}
    mounts = our_mounts(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPABLE, str(out)], env=env, stderr=subprocess.DEVNULL
    )
    episodes = out / "episodes.jsonl"
    deadline = time.monotonic() + 60
    while not (episodes.exists() and episodes.read_bytes().count(b"\n") == 2):
        assert process.poll() is None, "it ended before it was stopped"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.1)  # into the next episodes
    started = descendants(process.pid)
    assert started, "sandboxes were running"
    process.send_signal(sent)
    assert process.wait(30) == status
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in started) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in started if alive(pid)] == []
    assert list(temporary.iterdir()) == []
    assert our_mounts(tmp_path) == mounts

    before = episodes.read_bytes()
    summary = asyncio.run(run(replace(config(out), policy="scripted:slow.jsonl")))
    assert (summary.episodes, summary.faults) == (PREPARED, 0)
    assert episodes.read_bytes().startswith(before)
    assert sorted(record.index for record in open_run(out).episodes()) == list(range(PREPARED))
    for index in range(PREPARED):
        turns = open_run(out).episode(index).trajectory.turns
        assert len(turns) == 4, "three actions and submit, each once"


class GivesUp(Scripted):
    """Fails at its third turn, as one whose engine went away does."""

    async def act(self, history):
        if len(history.turns) == 2:
            raise ConnectionError("the engine is gone")
        return await super().act(history)


async def test_a_long_episode_goes_on_from_its_checkpoint(tmp_path):
    actions = (
        call("bash", command="mkdir -p docs && cd docs && echo one > notes.md"),
        call("bash", command="export WORD=two"),
        call("bash", command='echo "$WORD" >> notes.md; cat notes.md'),
    )
    source = resolve("tiny")
    options = EpisodeOptions(kind="FixTests")
    first, second = GivesUp(actions=actions), Scripted(actions=actions)
    pins = pin(config(tmp_path, policy="mine"), source, second, {})
    async with open_setting("auto", print) as setting:

        def rollouts(folder: RunFolder) -> Rollouts:
            return Rollouts(
                setting,
                source,
                options,
                done=set(range(1, PREPARED)) | folder.finished,
                checkpoints=folder.checkpoints(),
                checkpoint_sec=0,
                listener=Recorder(folder),
            )

        with RunFolder(tmp_path, pins) as folder, pytest.raises(UsageError, match="engine is gone"):
            await anext(rollouts(folder).run(first))
        with RunFolder(tmp_path, pins) as folder:
            assert len(folder.checkpoints()[0].turns) == 2
            async for result in rollouts(folder).run(second):
                folder.finish(result)
    episode = open_run(tmp_path).episode(0)
    assert [turn.action.text for turn in episode.trajectory.turns] == [*actions, call("submit")]
    assert episode.trajectory.turns[2].observation.output == "one\ntwo\n"
    assert {change.path: change.data for change in episode.work.changes} == {
        "docs/notes.md": b"one\ntwo\n"
    }


async def test_a_broken_task_is_counted_apart(tmp_path, home):
    rows = (home / ".codegym/environments/tiny/tasks.jsonl").read_text().splitlines()
    broken = json.loads(rows[0])
    broken["patch"] = broken["patch"].replace("sorted", "shuffled")
    (tmp_path / "rows.jsonl").write_text("\n".join([json.dumps(broken), rows[1]]) + "\n")
    rows_of = replace(config(tmp_path / "run"), tasks=str(tmp_path / "rows.jsonl"))
    summary = await run(rows_of)
    assert (summary.episodes, summary.graded, summary.solved) == (2, 1, 1)
    assert (summary.task_faults, summary.sandbox_faults) == (1, 0)
    assert "the hunk does not match" in open_run(tmp_path / "run").episode(0).error
