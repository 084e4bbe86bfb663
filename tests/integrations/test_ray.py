"""Episodes on a real cluster of two nodes on this machine; actors are killed while they play."""

import os
import signal
from dataclasses import replace

import pytest
from support import make_tiny_home

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore"),
]

FIX = (
    "sed -i 's#return ordered.len(ordered) // 2.#middle = len(ordered) // 2; "
    "return (ordered[middle] + ordered[-middle - 1]) / 2#' src/tinycalc/order.py"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=4)


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes; what the driver does is done by one that knows neither."""
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "object_store_memory": 80_000_000}
    )
    made.add_node(num_cpus=2, object_store_memory=80_000_000)
    yield made
    made.shutdown()


def config(out, policy="oracle", **more):
    from codegym.envs.options import EpisodeOptions
    from codegym.loop import RunConfig

    options = EpisodeOptions(kind="FixTests")
    return RunConfig("CodeGym/FixTests-v0", out, policy, "tiny", workers=4, options=options, **more)


async def played(cluster, given, watcher=None, actors=2):
    from codegym.integrations.ray import on_ray
    from codegym.loop import run

    async with on_ray(cluster.address, actors=actors, cpus=0.5) as stage:
        return await run(given, watcher, stage), stage


async def test_the_same_is_played_as_here(cluster, tmp_path):
    from codegym.loop import run
    from codegym.runs import open_run

    summary, _ = await played(cluster, config(tmp_path / "there", samples=2))
    assert (summary.solve_rate, summary.episodes, summary.faults) == (1.0, 8, 0)
    await run(config(tmp_path / "here", samples=2))
    here, there = open_run(tmp_path / "here"), open_run(tmp_path / "there")
    assert here.pins == there.pins
    for one, other in zip(here.episodes(), there.episodes(), strict=True):
        assert (one.index, one.task_id, one.seed) == (other.index, other.task_id, other.seed)
        assert one.work == other.work
        assert one.diff == other.diff
        assert one.attestation == other.attestation
        mine, theirs = here.turns(one.index), there.turns(one.index)
        assert [turn.action for turn in mine] == [turn.action for turn in theirs]


async def test_episodes_of_an_actor_that_dies_are_played_anew(cluster, tmp_path):
    """The policy kills the actor, as a machine might, in the middle of its first episodes."""
    from codegym.envs.rollouts import Rollouts
    from codegym.integrations.ray import on_ray
    from codegym.registration import resolve
    from codegym.types import Action, call

    class Killing:
        version = "1"

        def __init__(self):
            self.killed = []

        async def act(self, history):
            if not self.killed:
                host = stage._hosts[0]
                self.killed.append(host)
                os.kill(await host.__ray_call__.remote(lambda _: os.getpid()), signal.SIGKILL)
            return Action(call("bash", command=FIX) if not history.turns else call("submit"))

    policy = Killing()
    async with on_ray(cluster.address, actors=2, cpus=0.5) as stage:
        rollouts = Rollouts(stage, resolve("tiny"), workers=4)
        results = [result async for result in rollouts.run(policy)]
        assert policy.killed[0] is not stage._hosts[0]
    assert sorted(result.index for result in results) == [0, 1, 2, 3]
    assert [(result.reward, result.fault) for result in results] == [(1.0, "")] * 4


async def test_what_cannot_be_had_is_told(tmp_path, monkeypatch, cluster):
    from codegym.errors import UnavailableError, UsageError
    from codegym.integrations.ray import on_ray

    with pytest.raises(UsageError, match="at least 1 actor"):
        async with on_ray(cluster.address, actors=0):
            pass
    with pytest.raises(UnavailableError, match="no Ray cluster"):
        async with on_ray("127.0.0.1:1"):
            pass
    online = replace(config(tmp_path / "x").options, network="pip-as-of-task")
    with pytest.raises(UsageError, match="--network cannot be used with --ray"):
        await played(cluster, replace(config(tmp_path / "x"), options=online))
    monkeypatch.setattr("codegym.integrations.ray.stage._START_SEC", 3.0)
    with pytest.raises(UnavailableError, match="an actor did not start"):
        async with on_ray(cluster.address, actors=1, cpus=64):
            pass
