"""Whatever an attack does, the run goes on, is bounded, and tells what happened."""

import asyncio
import json
import re

import pytest
import pytest_asyncio

from codegym.errors import SandboxError
from codegym.redteam import Arena, Attack, Control, Finding, Inapplicable, Report, Result, catalogue
from codegym.redteam.baits import baits
from codegym.redteam.page import render
from codegym.redteam.play import PROBE

pytestmark = pytest.mark.asyncio(loop_scope="module")


def made(name, play, family="leftovers"):
    return Attack(name, family, "Does as the test says", "a test", play)


async def nothing(play):
    return Finding("impossible", "nothing")


async def hangs(play):
    await asyncio.sleep(3600)


async def raises(play):
    raise ZeroDivisionError("a fault of the attack")


async def unfit(play):
    raise Inapplicable("no such thing here")


async def gets_through(play):
    await play.solve()
    return await play.graded()  # as though it were a wrong patch


async def finds_a_bait(play):
    return Finding("succeeded", "<script>alert(1)</script>" + "x" * 5000)


@pytest_asyncio.fixture(loop_scope="module")
async def run(setting, victim, canary):
    async def play_all(*attacks, **options):
        arena = Arena(setting, canary, **options)
        return await arena.run(attacks, [victim])

    return play_all


async def test_attacks_that_fail_to_play_are_told_and_the_rest_is_played(run):
    told = []
    report = await run(
        made("hangs", hangs),
        made("raises", raises),
        made("unfit", unfit),
        made("nothing", nothing),
        attack_sec=0.5,
        told=told.append,
    )
    assert report.complete
    assert {each.attack.name: each.outcome for each in report.verdicts} == {
        "hangs": "refused",
        "nothing": "impossible",
    }
    assert [each.attack.name for each in report.faults] == ["raises"]
    assert "ZeroDivisionError: a fault of the attack" in report.faults[0].problem
    assert [each.attack.name for each in report.inapplicable] == ["unfit"]
    assert sum(isinstance(each, Result) for each in told) == 4
    assert [each.score for each in told if isinstance(each, Control)] == [1.0]


async def test_an_attack_that_gets_through_is_told(run):
    report = await run(made("through", gets_through), made("bait", finds_a_bait))
    assert {each.attack.name for each in report.succeeded} == {"through", "bait"}
    assert report.false_positives == []
    assert max(len(each.evidence) for each in report.verdicts) <= 600


async def test_an_episode_that_an_attack_made_faulty_each_time_has_excused_it(run):
    async def excused(play):
        async def broken(*_, **__):
            raise SandboxError("it is gone")

        play._episode._box.shell = broken
        await play.bash("true")

    report = await run(made("excused", excused))
    (verdict,) = report.verdicts
    assert verdict.outcome == "succeeded"
    assert "without a grade, 3 times of 3" in verdict.evidence


async def test_the_worst_of_all_tasks_counts(setting, victim, canary):
    calls = []

    async def at_times(play):
        calls.append(play)
        return Finding("succeeded" if len(calls) == 2 else "refused", f"call {len(calls)}")

    report = await Arena(setting, canary, workers=1).run([made("a", at_times)], [victim] * 3)
    (verdict,) = report.verdicts
    assert (verdict.outcome, verdict.evidence, verdict.tasks) == ("succeeded", "call 2", 3)


async def test_a_run_that_is_stopped_leaves_what_was_done(setting, victim, canary):
    first = asyncio.Event()
    arena = Arena(setting, canary, workers=1, told=lambda _: first.set())
    running = asyncio.ensure_future(
        arena.run([made("nothing", nothing), made("hangs", hangs)], [victim])
    )
    await first.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [each.attack.name for each in arena.report.verdicts] == ["nothing"]
    assert not arena.report.complete


async def test_attacks_that_break_things_stay_out_of_what_is_not_isolated(run, monkeypatch):
    """A sandbox that shows the host's files is told by the canary; here the check is told so."""
    told = json.dumps({"hits": ["x"], "looked": 1, "bytes": 1, "ended": True})
    monkeypatch.setattr("codegym.redteam.arena._PROCESSES", f"echo 'PROBE {told}'")
    report = await run(made("looks", nothing), made("breaks", nothing, "lifecycle"))
    assert [each.attack.name for each in report.verdicts] == ["looks"]
    assert "not played" in report.faults[0].problem


async def test_baits_are_there_while_a_run_lasts_and_then_gone(setting, victim, canary, play):
    async with baits([victim]) as folder:
        assert list(folder.iterdir()) == []
        assert victim.marker in (folder.parent / "tasks.jsonl").read_text()
        seen = await play.look(f"{PROBE} files / /dev/shm; {PROBE} proc environ cmdline fd root")
        assert seen.ended
        assert seen.hits == ()
    assert not folder.exists()


async def test_the_page_is_one_file_that_fetches_and_runs_nothing(run):
    report = await run(made("bait", finds_a_bait), made("raises", raises))
    page = render(report, "tiny & co")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "tiny &amp; co" in page
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", page)
    assert "1 of 1 attack" in page
    assert "ZeroDivisionError" in page


async def test_an_empty_report_can_be_shown():
    assert "0 of 0" in render(Report(), "nothing")


async def test_real_ones_among_them(run):
    names = ["git-stash", "unreadable-files", "remove-the-workspace", "write-after-submit"]
    report = await run(*catalogue(names))
    outcomes = {each.attack.name: each.outcome for each in report.verdicts}
    assert outcomes == dict.fromkeys(names[1:], "refused") | {"git-stash": "impossible"}
