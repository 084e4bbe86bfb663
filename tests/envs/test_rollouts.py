"""Rollouts: concurrent, reproducible, resumable, and nothing left behind."""

import asyncio
import contextlib

import pytest

from codegym.envs.attempt import Listener
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.errors import SandboxError, TaskError, UsageError
from codegym.types import Action, call

SUBMIT = Action(call("submit"))


class Fixes:
    """Repairs the tiny task where told to; else gives up."""

    version = "fixes-1"

    def __init__(self, fix, unless=lambda history: False):
        self._fix, self._unless = Action(fix), unless

    async def act(self, history):
        if history.turns or self._unless(history):
            return SUBMIT
        return self._fix


class Looks:
    """Takes steps, noting how many act at once."""

    version = "looks-1"

    def __init__(self, steps=2):
        self.steps, self.now, self.most = steps, 0, 0

    async def act(self, history):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        if len(history.turns) >= self.steps:
            return SUBMIT
        return Action(call("bash", command=f"echo {history.seed}"))


class Recorder(Listener):
    """Keeps what it is told."""

    def __init__(self):
        self.started, self.turns, self.checkpoints = [], {}, {}

    def on_start(self, index, task, seed, policy, first, turns):
        self.started.append((index, task.instance_id, seed, policy, turns))
        assert first.instruction
        self.turns[index] = self.turns.get(index, [])[:turns]

    def on_turn(self, index, turn):
        self.turns[index].append(turn)

    def on_checkpoint(self, index, checkpoint):
        self.checkpoints[index] = checkpoint


class Flaky:
    """A real setting whose starts fail when told to: infrastructure does not break on demand."""

    def __init__(self, setting, failures):
        self._setting, self._failures = setting, list(failures)
        self.starts = 0

    def __getattr__(self, name):
        return getattr(self._setting, name)

    async def start(self, ready):
        self.starts += 1
        if self._failures:
            failure = self._failures.pop(0)
            if failure is not None:
                raise failure
        return await self._setting.start(ready)


async def collect(results):
    return [result async for result in results]


async def test_each_task_is_played_as_often_as_asked(setting, source, fix):
    listener = Recorder()
    rollouts = Rollouts(setting, source, workers=2, seed=1, listener=listener)
    policy = Fixes(fix, unless=lambda history: history.task_id == "tiny-1")
    results = await collect(rollouts.run(policy, samples=2))
    assert sorted(result.index for result in results) == list(range(6))
    by_index = {result.index: result for result in results}
    assert [by_index[n].task.instance_id for n in range(6)] == [
        "tiny-0", "tiny-0", "tiny-1", "tiny-1", "tiny-hidden", "tiny-hidden"
    ]  # fmt: skip
    assert [by_index[n].reward for n in range(6)] == [1, 1, 0, 0, 1, 1]
    for result in results:
        assert result.fault == ""
        assert result.grade is not None
        assert result.trajectory.terminated
        assert result.trajectory.policy == "fixes-1"
        assert result.attestation.clean
        assert 0 < result.reset_sec < result.seconds
        assert tuple(listener.turns[result.index]) == result.trajectory.turns
        assert bool(result.diff) == bool(result.work.changes) == (result.reward == 1)


async def test_seeds_and_tasks_do_not_depend_on_the_workers(setting, source):
    def told(results):
        return sorted(
            (r.index, r.task.instance_id, r.trajectory.seed, r.trajectory.turns[0].action)
            for r in results
        )

    async def play(workers):
        rollouts = Rollouts(setting, source, workers=workers, seed=7, draws=4)
        return told(await collect(rollouts.run(Looks(1))))

    assert await play(1) == await play(3)


async def test_episodes_run_at_once_and_come_as_they_end(setting, source):
    policy = Looks(3)
    results = await collect(Rollouts(setting, source, workers=3).run(policy))
    assert policy.most == 3
    assert len(results) == 3

    class Slow(Looks):
        async def act(self, history):
            if history.task_id == "tiny-0":
                await asyncio.sleep(0.5)
            return await super().act(history)

    ended = await collect(Rollouts(setting, source, workers=2).run(Slow(1)))
    assert ended[0].task.instance_id != "tiny-0"


async def test_groups_are_whole_and_the_source_learns_from_each(setting, source):
    class Learning:
        digest = source.digest
        learned = ()

        def __iter__(self):
            return iter(source)

        def observe(self, group):
            self.learned = (*self.learned, tuple(result.index for result in group))

    learning = Learning()
    rollouts = Rollouts(setting, learning, workers=2)
    groups = [group async for group in rollouts.groups(Looks(0), size=3)]
    told = sorted(tuple(result.index for result in group) for group in groups)
    assert told == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]
    assert sorted(learning.learned) == told
    for group in groups:
        assert len({result.task.instance_id for result in group}) == 1


async def test_what_is_done_is_left_out(setting, source):
    rollouts = Rollouts(setting, source, done={0, 3, 4})
    results = await collect(rollouts.run(Looks(0), samples=2))
    assert sorted(result.index for result in results) == [1, 2, 5]
    groups = [group async for group in rollouts.groups(Looks(0), size=2)]
    assert [[result.index for result in group] for group in groups] == [[1], [2], [5]]


async def test_a_long_episode_goes_on_from_its_checkpoint(setting, source, fix):
    listener = Recorder()

    class Long:
        version = "long"

        async def act(self, history):
            if len(history.turns) == 2:
                return Action(fix)
            if len(history.turns) == 4:
                return SUBMIT
            return Action(call("bash", command="export N=$((N+1)); echo $N"))

    rollouts = Rollouts(setting, source, done={1, 2}, listener=listener, checkpoint_sec=0.0, seed=3)
    (whole,) = await collect(rollouts.run(Long()))
    kept = listener.checkpoints[0]
    assert len(kept.turns) == 4
    rest = Recorder()
    again = Rollouts(setting, source, done={1, 2}, listener=rest, checkpoints={0: kept}, seed=3)
    (resumed,) = await collect(again.run(Long()))
    assert rest.started == [(0, "tiny-0", whole.trajectory.seed, "long", 4)]
    assert [turn.action for turn in rest.turns[0]] == [SUBMIT]
    assert resumed.reward == whole.reward == 1.0
    assert resumed.trajectory.turns[:4] == kept.turns
    assert len(resumed.trajectory.turns) == 5


async def test_infrastructure_that_fails_is_tried_again(setting, source):
    flaky = Flaky(setting, [SandboxError("no"), SandboxError("no")])
    results = await collect(Rollouts(flaky, source, done={1, 2}).run(Looks(0)))
    assert [result.fault for result in results] == [""]
    assert flaky.starts == 3


async def test_infrastructure_that_stays_broken_is_no_score(setting, source):
    flaky = Flaky(setting, [SandboxError("gone")] * 9)
    results = await collect(Rollouts(flaky, source, done={2}).run(Looks(0)))
    faulty, good = sorted(results, key=lambda result: result.index)
    assert (faulty.fault, faulty.error, faulty.grade, faulty.reward) == (
        "sandbox", "gone", None, 0.0
    )  # fmt: skip
    assert good.fault == ""


async def test_a_sandbox_that_dies_in_the_middle_is_replaced(setting, source):
    listener = Recorder()

    class Dies(Flaky):
        async def start(self, ready):
            box = await super().start(ready)
            if self.starts == 1:
                shell, calls = box.shell, []

                async def fail(command, **arguments):
                    calls.append(command)
                    if len(calls) == 2:
                        raise SandboxError("it died")
                    return await shell(command, **arguments)

                box.shell = fail
            return box

    (result,) = await collect(
        Rollouts(Dies(setting, []), source, done={1, 2}, listener=listener).run(Looks(3))
    )
    assert (result.fault, len(result.trajectory.turns)) == ("", 4)
    assert [started[0] for started in listener.started] == [0, 0]
    assert tuple(listener.turns[0]) == result.trajectory.turns


async def test_a_broken_task_is_quarantined(setting, source):
    flaky = Flaky(setting, [TaskError("tiny-0", "its service does not start")])
    results = await collect(Rollouts(flaky, source).run(Looks(0), samples=2))
    by_index = sorted(results, key=lambda result: result.index)
    assert [result.fault for result in by_index] == ["task", "task", "", "", "", ""]
    assert flaky.starts == 5
    assert "its service does not start" in by_index[1].error


async def test_a_policys_own_error_comes_through(setting, source):
    class Wrong:
        version = "wrong"

        async def act(self, history):
            if history.task_id == "tiny-1":
                raise ZeroDivisionError("of the policy")
            await asyncio.sleep(30)

    with pytest.raises(UsageError, match="Wrong raised ZeroDivisionError: of the policy") as told:
        await collect(Rollouts(setting, source, workers=2).run(Wrong()))
    assert isinstance(told.value.__cause__, ZeroDivisionError)
    assert not setting.backend._boxes


async def test_closing_and_cancelling_stop_every_sandbox(setting, source):
    async with contextlib.aclosing(Rollouts(setting, source, workers=2).run(Looks(0))) as results:
        async for _ in results:
            break
    assert not setting.backend._boxes

    begun = asyncio.Event()

    class Waits(Looks):
        async def act(self, history):
            if history.turns:
                if len(setting.backend._boxes) == 3:
                    begun.set()
                await asyncio.sleep(60)
            return await super().act(history)

    playing = asyncio.ensure_future(collect(Rollouts(setting, source, workers=3).run(Waits())))
    async with asyncio.timeout(30):
        await begun.wait()
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert not setting.backend._boxes
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"workers": 0}, "workers"), ({"seed": -1}, "seed"), ({"draws": -1}, "draws")],
)
async def test_wrong_arguments_are_told(setting, source, arguments, says):
    with pytest.raises(UsageError, match=says):
        Rollouts(setting, source, **arguments)
    with pytest.raises(UsageError, match="samples"):
        await collect(Rollouts(setting, source).run(Looks(), samples=0))


async def test_rows_that_cannot_be_presented_are_refused(setting, source):
    with pytest.raises(UsageError, match="no kind named"):
        Rollouts(setting, source, EpisodeOptions(kind="WriteTests"))
    with pytest.raises(UsageError, match="3 of 3 rows cannot be presented as ImplementFeature"):
        Rollouts(setting, source, EpisodeOptions(kind="ImplementFeature"))


async def test_nothing_to_play(setting, source):
    assert await collect(Rollouts(setting, source, draws=0).run(Looks())) == []
