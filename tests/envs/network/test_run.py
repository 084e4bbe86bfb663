"""Whole runs and envs with a policy of the network: what is kept, pinned and told."""

import json
from dataclasses import replace

import gymnasium as gym
import pytest
from proxy_parts import ORIGIN, SINK, address, bash, entries, get
from typer.testing import CliRunner

import codegym
from codegym.cli.app import app
from codegym.envs.options import EpisodeOptions
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.loop import RunConfig, run
from codegym.network.ways import ways
from codegym.runs.layout import network_file
from codegym.types import call

pytestmark = pytest.mark.network


@pytest.fixture
def one(home, tmp_path):
    """A source of one task."""
    (rows,) = (home / ".codegym" / "environments" / "tiny").glob("*.jsonl")
    path = tmp_path / "one.jsonl"
    path.write_text(rows.read_text().splitlines()[0] + "\n")
    return str(path)


@pytest.fixture
def script(tmp_path, origin, sink):
    """A policy that asks for what is allowed and what is not, then submits."""
    lines = [get(address(origin)), get(f"https://{SINK}:{sink.port}/secret"), call("submit")]
    path = tmp_path / "script.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return f"scripted:{path}"


def codegym_says(*words):
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.stderr
    return ran.stdout


async def test_a_run_keeps_what_each_episode_asked_for_and_is_pinned_to_the_policy(
    policy, script, one, origin, tmp_path, operated
):
    path = policy()
    options = EpisodeOptions(kind="FixTests", network=path)
    config = RunConfig(
        "CodeGym/FixTests-v0", tmp_path / "run", script, one, samples=2, options=options
    )
    summary = await run(config)
    assert (summary.faults, summary.graded, origin.accepted) == (0, 2, 2)
    for index in range(2):
        asked = [e for e in entries(network_file(config.out, index)) if e["event"] == "request"]
        assert [(e["host"], e["allowed"]) for e in asked] == [(ORIGIN, True)]
    told = codegym_says("network", "log", str(config.out), "--episode", "1")
    assert "1 request, 1 denied" in told
    assert "no rule has the host" in " ".join(told.split())
    read = json.loads(codegym_says("network", "log", str(config.out), "--json"))
    assert read["policy"] == path
    assert [e["status"] for e in read["entries"] if e["event"] == "end"] == [200]

    policy(more='methods = ["GET"]\n')
    changed = replace(config, options=EpisodeOptions(kind="FixTests", network=path))
    with pytest.raises(UsageError, match="network_digest"):
        await run(changed)
    with pytest.raises(UsageError, match=r"options\.network"):
        await run(replace(config, options=EpisodeOptions(kind="FixTests")))


async def test_a_run_without_a_network_has_no_log(one, tmp_path, home):
    config = RunConfig("CodeGym/FixTests-v0", tmp_path / "run", "noop", one)
    await run(config)
    assert "policy none: 0 requests, 0 denied" in codegym_says("network", "log", str(config.out))
    ran = CliRunner().invoke(app, ["network", "log", str(config.out), "--episode", "7"])
    assert ran.exit_code == 2


def test_envs_take_a_policy_by_name(policy, origin, operated):
    policy("mine")
    env = gym.make("CodeGym/FixTests-v0", tasks="tiny", network="mine")
    try:
        env.reset(seed=1)
        observation, _, _, _, info = env.step(get(address(origin)))
        assert "200 hello" in observation["output"]
        assert set(info) == set(env.step(bash("true"))[-1])
    finally:
        env.close()
    made = gym.make_vec("CodeGym/FixTests-v0", num_envs=2, tasks="tiny", network="mine")
    try:
        made.reset(seed=1)
        observations, *_ = made.step([get(address(origin)), bash("echo $https_proxy")])
        assert "200 hello" in observations["output"][0]
        assert observations["output"][1] == "http://127.0.0.1:3128\n"
    finally:
        made.close()


def test_a_vector_whose_proxy_cannot_start_has_faults_and_no_scores(policy, operated):
    policy("mine")
    proxy = ways().start()
    made = gym.make_vec("CodeGym/FixTests-v0", num_envs=2, tasks="tiny", network="mine")
    owner, proxy._owner = proxy._owner, 0
    try:
        made.reset(seed=1)
        _, rewards, terminated, truncated, infos = made.step([bash("true")] * 2)
    finally:
        proxy._owner = owner
        made.close()
    assert list(infos["fault"]) == ["sandbox", "sandbox"]
    assert list(rewards) == [0.0, 0.0]
    assert (terminated.any(), truncated.all()) == (False, True)


def test_a_policy_that_is_not_there_or_wrong_is_told_when_an_env_is_made(policy, operated):
    def make(network):
        return gym.make("CodeGym/FixTests-v0", tasks="tiny", network=network)

    policy("mine")
    with pytest.raises(NotFoundError, match="did you mean 'mine'"):
        make("mien")
    with pytest.raises(DataError, match="unknown key 'metods'"):
        make(policy("wrong", more='metods = ["GET"]\n'))
    assert codegym.__version__
