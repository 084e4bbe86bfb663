"""An episode's one way out: what it lets through, whose it is, and when it is there."""

import asyncio
import os
import signal

import pytest
from proxy_parts import ORIGIN, SINK, address, bash, entries, get, said

from codegym.envs.episode import Episode
from codegym.errors import SandboxError
from codegym.types import call

pytestmark = pytest.mark.network

HELLO = "200 hello from the origin"
LISTENERS = bash("cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '")


async def test_what_the_policy_allows_is_reached_and_nothing_else(play, policy, origin, sink, fix):
    episode = await play(policy(more='paths = ["/", "/large"]\n'))
    assert HELLO in await said(episode, get(address(origin)))
    assert "403" in await said(episode, get(address(origin, "/other")))
    assert "403" in await said(episode, get(f"https://{SINK}:{sink.port}/"))
    assert "403" in await said(episode, get(f"http://{ORIGIN}:{origin.port}/"))
    assert [path for _, path, _ in origin.asked] == ["/"]
    assert sink.accepted == 0
    verdicts = [(e["event"], e["allowed"]) for e in entries(episode._way.log)]
    assert verdicts.count(("request", True)) == 1
    assert sum(not allowed for _, allowed in verdicts) == 3
    await episode.step(fix)
    result = await episode.step(call("submit"))
    assert (result.info.grade.score, result.info.fault) == (1.0, "")


async def test_without_a_policy_there_is_nothing_and_no_proxy_starts(play, origin):
    from codegym.network.ways import ways

    before = ways()._proxy
    episode = await play("none")
    assert await said(episode, LISTENERS) == "0\n"
    assert episode._way is None
    assert "proxy" not in (await said(episode, bash("env"))).lower()
    assert ways()._proxy is before
    assert "200" not in await said(episode, get(address(origin)))
    assert origin.accepted == 0


async def test_a_fork_has_the_way_and_the_last_of_them_closes_it(play, policy, origin):
    episode = await play(policy())
    way = episode._way
    twin = await episode.fork()
    assert HELLO in await said(twin, get(address(origin)))
    await episode.close()
    assert HELLO in await said(twin, get(address(origin)))
    await twin.close()
    assert not way.socket.parent.parent.exists()
    assert origin.accepted == 2


async def test_two_episodes_have_each_their_own(play, policy, origin, sink):
    one, two = await play(policy()), await play(policy("sink", SINK))
    first, second = address(origin), f"https://{SINK}:{sink.port}/"
    assert HELLO in await said(one, get(first))
    assert HELLO in await said(two, get(second))
    assert "403" in await said(one, get(second))
    assert "403" in await said(two, get(first))
    # Not even with the other's certificate: it is the socket that says whose a connection is.
    assert one._way.certificate != two._way.certificate
    assert {e["host"] for e in entries(one._way.log) if e["allowed"]} == {ORIGIN}
    assert {e["host"] for e in entries(two._way.log) if e["allowed"]} == {SINK}


async def test_a_reset_gives_a_new_way_and_closes_the_old_one(play, policy, origin, source):
    episode = await play(policy())
    old = episode._way
    await episode.reset(source.get("tiny-1"))
    assert not old.socket.exists()
    assert episode._way.certificate != old.certificate
    assert HELLO in await said(episode, get(address(origin)))


async def test_a_log_of_ones_own_stays_and_is_added_to(play, policy, origin, tmp_path):
    for times in (1, 2):
        episode = await play(policy(), log=tmp_path / "log.jsonl")
        await said(episode, get(address(origin)))
        await episode.close()
        assert [e["event"] for e in entries(tmp_path / "log.jsonl")].count("request") == times


async def test_grading_has_no_way_out(play, policy, origin, fix):
    """Not even while the episode's own is open, for code that a test runs."""
    episode = await play(policy())
    await episode.step(fix)
    probe = (
        'import socket\\ntry:\\n    socket.create_connection((\\"127.0.0.1\\", 3128), 1)\\n'
        "except OSError:\\n    pass\\nelse:\\n    raise SystemExit(1)\\n"
    )
    await episode.step(bash(f'printf "{probe}" >> src/tinycalc/order.py'))
    assert "Traceback" not in await said(episode, bash("python3 -c 'print(1)'"))
    grade = await episode.grade()
    assert grade.solved, grade.text
    assert origin.accepted == 0
    assert episode._known().grading_spec.egress is None


async def test_a_proxy_that_is_killed_is_no_way_out_and_then_one_again(
    play, policy, origin, the_proxy, fix
):
    episode = await play(policy())
    assert HELLO in await said(episode, get(address(origin)))
    killed = the_proxy.pid
    os.kill(killed, signal.SIGKILL)
    assert HELLO not in (told := await said(episode, get(address(origin)))), told
    assert episode._way.is_open  # the step has waited for it
    assert the_proxy.pid not in (None, killed)
    assert HELLO in await said(episode, get(address(origin)))
    assert "403" in await said(episode, get(f"https://{SINK}:{origin.other}/"))
    await episode.step(fix)
    assert (await episode.step(call("submit"))).info.grade.solved


async def test_a_proxy_that_cannot_start_again_is_a_fault_and_no_score(
    play, policy, the_proxy, wait_until
):
    episode = await play(policy())
    program = the_proxy._program
    try:
        the_proxy._program = program.parent / "nowhere.py"
        os.kill(the_proxy.pid, signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: the_proxy.pid is None, "its end")
        result = await episode.step(bash("true"))
    finally:
        the_proxy._program, the_proxy._deaths = program, 0
    assert (result.info.fault, result.info.grade, result.reward) == ("sandbox", None, 0.0)
    assert result.truncated
    assert "does not start" in episode.error


@pytest.mark.parametrize("name", ["down", "odd"])
async def test_an_upstream_that_is_down_or_not_who_it_says_is_a_fault(play, policy, sink, name):
    """Nobody is at port 9; and the sink's certificate is of another name."""
    host, port = f"{name}.test.example", {"down": 9, "odd": sink.port}[name]
    episode = await play(policy(name, host, port))
    assert "502" in await said(episode, get(f"https://{host}:{port}/"))
    result = await episode.step(call("submit"))
    assert (result.info.fault, result.info.grade) == ("sandbox", None)
    assert host in episode.error
    assert sink.asked == []


async def test_a_denied_request_and_a_wildcards_name_are_the_agents_own_affair(play, policy):
    episode = await play(policy("wild", "*.down.test.example", 9))
    assert "502" in await said(episode, get("https://any.down.test.example:9/"))
    assert "403" in await said(episode, get("https://elsewhere.test.example/"))
    result = await episode.step(call("submit"))
    assert (result.info.fault, result.info.grade.score) == ("", 0.0)


async def test_where_no_proxy_starts_there_is_no_episode(setting, source, policy, the_proxy):
    from codegym.envs.options import EpisodeOptions

    stopped, the_proxy._owner = the_proxy._owner, 0  # as if this process had no part in it
    episode = Episode(setting, EpisodeOptions(network=policy()))
    try:
        with pytest.raises(SandboxError, match="egress proxy"):
            await episode.reset(source.get("tiny-0"))
    finally:
        the_proxy._owner = stopped
        await episode.close()


async def test_a_way_that_cannot_be_opened_again_is_a_fault(play, policy, the_proxy, wait_until):
    episode, other = await play(policy()), await play(policy())
    place = episode._way.socket.parent
    place.rename(place.with_name("moved"))
    killed = the_proxy.pid
    os.kill(killed, signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: the_proxy.pid not in (None, killed), "a new one")
    result = await episode.step(bash("true"))
    assert (result.info.fault, result.info.grade) == ("sandbox", None)
    assert (await other.step(bash("true"))).info.fault == ""


async def test_a_log_that_cannot_be_written_is_no_fault_of_the_task(play, policy, tmp_path):
    with pytest.raises(SandboxError, match="No such file"):
        await play(policy(), log=tmp_path / "nowhere" / "log.jsonl")
