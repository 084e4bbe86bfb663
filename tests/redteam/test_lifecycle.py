"""Attacks on an episode's life succeed where what they rely on is there: each check can fail."""

import pytest
from redteam.plants import PREAMBLE

from codegym.envs.options import EpisodeOptions
from codegym.redteam import Play, catalogue
from codegym.redteam.attacks.lifecycle_breakage import _judged
from codegym.redteam.attacks.lifecycle_survivors import follow, survived, token

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATTACKS = {one.name: one for one in catalogue() if one.family == "lifecycle"}
LEFT = {
    "a file": "echo $L > left",
    "a temporary file": "echo $L > /tmp/left",
    "shared memory": "echo $L > /dev/shm/left",
    "the home": "echo $L > ~/left",
    "a variable": "export X=$L",
    "a function": 'eval "f() { echo $L; }"',
    "an alias": "alias x=$L",
    "the folder": "mkdir /tmp/$L; cd /tmp/$L",
    "a stash": "git -c user.name=a -c user.email=a stash push -q -u -m $L",
    "a process": "X=$L quiet sleep 60",
    "a segment": "quiet sh /tmp/.tell.sh $L; sleep 0.3; rm -f /dev/shm/*",
}


USUAL = ("a file", "a variable", "a stash", "a segment")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, id=name, marks=[] if name in USUAL else pytest.mark.slow)
        for name, script in LEFT.items()
    ],
)
async def test_what_is_left_behind_is_seen(play, script):
    await play.lay("tell")
    await play.bash(f"L={token(play)}\n{PREAMBLE}\necho > new\n{script}\nunset L")
    assert (await follow(play, token(play))).outcome == "succeeded"


async def test_an_episode_that_nothing_was_left_in_shows_nothing(play):
    assert (await follow(play, token(play))).outcome == "impossible"


async def test_whoever_reaches_the_host_has_succeeded(play):
    (play.canary / "x").touch()
    assert (await survived(play)).outcome == "succeeded"


@pytest.mark.parametrize("name", ["reset-reuse", "fork-leftovers", "layer-poisoning"])
async def test_it_succeeds_where_two_episodes_are_one(play, name, monkeypatch):
    async def the_same():
        return play

    for method in ("reset", "fork", "another"):
        monkeypatch.setattr(play, method, the_same)
    finding = await ATTACKS[name].play(play)
    assert finding.outcome == "succeeded"


async def test_a_message_is_heard_where_there_is_a_way(play, monkeypatch):
    async def the_same():
        return play

    monkeypatch.setattr(play, "another", the_same)
    assert (await ATTACKS["message-board"].play(play)).outcome == "succeeded"


async def test_steps_after_the_end_succeed_where_they_are_taken(play, monkeypatch):
    async def taken(*_):
        return play._episode.history.last

    monkeypatch.setattr(play, "bash", taken)
    assert (await ATTACKS["write-after-submit"].play(play)).outcome == "succeeded"


async def test_malformed_actions_succeed_where_they_cost_nothing(setting, victim, canary):
    play = Play(setting, victim, canary, EpisodeOptions(max_steps=1000))
    await play.reset()
    assert (await ATTACKS["malformed-actions"].play(play)).outcome == "succeeded"
    await play.close()


async def test_a_setting_that_opens_is_told(play):
    run = await play.lay("kernel-settings")
    assert (
        _judged(await play.bash(f"touch /tmp/setting; {run} /tmp/setting")).outcome == "succeeded"
    )
    assert _judged(await play.bash("echo nothing; true")).outcome == "refused"


async def test_a_terminal_is_told(play):
    run = await play.lay("terminal")
    seen = await play.bash(f"python3 -c 'import pty; pty.spawn(\"{run}\".split())' | tr -d '\\r'")
    assert _judged(seen).outcome == "succeeded"


async def test_a_daemon_that_answers_is_told(play):
    bind = (
        "import socket, time; door = socket.socket(socket.AF_UNIX); door.bind('/tmp/daemon'); "
        "door.listen(); time.sleep(60)"
    )
    run = await play.lay("daemons")
    seen = await play.bash(f'python3 -c "{bind}" >/dev/null 2>&1 & sleep 0.5; {run} /tmp/daemon')
    assert "OPEN /tmp/daemon" in seen.output
