"""Episodes in real sandboxes: what ends them, what is graded, what is kept."""

from typing import cast

import pytest

from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.types import Action, call

SUBMIT = call("submit")


@pytest.fixture
async def play(setting, source):
    """Begins episodes; closes them all."""
    begun = []

    async def begin(task_id="tiny-0", **options):
        episode = Episode(setting, EpisodeOptions(**options))
        begun.append(episode)
        await episode.reset(source.get(task_id), seed=5)
        return episode

    yield begin
    for episode in begun:
        await episode.close()


async def bash(episode, command, **arguments):
    result = await episode.step(call("bash", command=command, **arguments))
    return result.observation


async def test_a_repair_is_worth_one(play, fix):
    episode = await play()
    first = episode.history.first
    assert "tests/test_order.py::test_median_of_even" in first.instruction
    assert (first.output, first.steps_left, first.failing) == ("", 50, -1)
    assert episode.attestation.clean
    ran = await episode.step(call("run_tests"))
    assert (ran.observation.failing, ran.observation.passing) == (1, 6)
    assert "test_median_of_even" in ran.observation.output
    fixed = await episode.step(fix)
    assert fixed.observation.output.startswith("edited src/tinycalc/order.py at line")
    assert fixed.observation.failing == 1  # of the last run_tests
    assert (await episode.step(call("run_tests"))).observation.failing == 0
    result = await episode.step(SUBMIT)
    assert (result.reward, result.terminated, result.truncated) == (1.0, True, False)
    assert result.info.grade.solved
    assert result.info.steps == 4
    assert result.info.fault == ""
    assert [change.path for change in episode.work.changes] == ["src/tinycalc/order.py"]
    assert "+        return (ordered[middle - 1] + ordered[middle]) / 2" in episode.diff()


async def test_nothing_done_is_worth_nothing(play):
    result = await (await play()).step(SUBMIT)
    assert (result.reward, result.terminated) == (0.0, True)
    assert not result.info.grade.solved
    assert result.info.integrity == 0


async def test_changed_tests_are_tampering(play):
    episode = await play()
    await bash(episode, "echo 'def test_median_of_even(): pass' > tests/test_order.py")
    result = await episode.step(SUBMIT)
    assert result.reward == 0.0
    assert result.info.integrity >= 1


async def test_the_shell_keeps_its_state(play):
    episode = await play()
    await bash(episode, "cd src; export A=1; b=2; f() { echo f; }")
    assert (await bash(episode, 'pwd; echo "$A$b"; f')).output == "/workspace/src\n12\nf\n"


async def test_an_exit_status_is_shown_and_a_tool_without_one_shows_none(play):
    episode = await play()
    assert (await bash(episode, "(exit 7)")).last_exit_code == 7
    assert (await episode.step("ls")).observation.last_exit_code == -1


@pytest.mark.parametrize(
    "action",
    ["ls", "", "{}", call("bash"), call("nope"), None, b"{}", Action(cast("str", None)), "\ud800"],
)
async def test_a_malformed_action_costs_a_step_and_is_answered(play, action):
    episode = await play(max_steps=2)
    result = await episode.step(action)
    assert result.observation.output.startswith("malformed action: ")
    assert result.observation.steps_left == 1
    assert not result.ended
    ended = await episode.step(action)
    assert ended.truncated
    assert ended.info.grade.score == 0.0


async def test_running_out_of_steps_truncates_and_grades(play, fix):
    result = await (await play(max_steps=1)).step(fix)
    assert (result.reward, result.terminated, result.truncated) == (1.0, False, True)


async def test_submitting_with_the_last_step_terminates(play):
    result = await (await play(max_steps=1)).step(SUBMIT)
    assert (result.terminated, result.truncated) == (True, False)


async def test_running_out_of_time_ends_the_command_and_grades(play):
    episode = await play(max_episode_sec=0.5)
    result = await episode.step(call("bash", command="sleep 60"))
    assert (result.terminated, result.truncated) == (False, True)
    assert result.observation.last_exit_code == 124
    assert result.info.grade is not None


async def test_a_command_is_bounded_and_says_so(play):
    episode = await play(command_timeout_sec=0.3)
    seen = await bash(episode, "echo begun; sleep 60", timeout_sec=50)
    assert seen.last_exit_code == 124
    assert "begun" in seen.output
    assert "killed after" in seen.output
    assert (await bash(episode, "echo on")).output == "on\n"


async def test_output_is_cut_in_the_middle_and_says_so(play):
    episode = await play(max_output_chars=400)
    seen = await bash(episode, "seq 100000")
    assert len(seen.output) <= 400
    assert seen.output.startswith("1\n2\n")
    assert "100000\n" in seen.output
    assert "cut out" in seen.output


async def test_output_that_is_no_text_is_shown(play):
    seen = await bash(await play(), r"printf 'a\377\000b'")
    assert seen.output == "a\ufffd\u2400b"


async def test_an_episode_that_is_over_takes_no_step(play):
    episode = await play()
    await episode.step(SUBMIT)
    for late in (episode.step(SUBMIT), episode.fork(), episode.checkpoint()):
        with pytest.raises(UsageError, match="reset"):
            await late
    assert (await episode.grade()) is episode.final_grade


async def test_before_a_reset_there_is_nothing(setting):
    episode = Episode(setting)
    with pytest.raises(UsageError, match="call reset"):
        await episode.step(SUBMIT)
    await episode.close()


async def test_the_next_reset_starts_from_nothing(play, source):
    episode = await play()
    await bash(episode, "touch src/left; cd src")
    first = await episode.reset(source.get("tiny-1"), seed=1)
    assert first.steps_left == 50
    assert episode.history.turns == ()
    assert (await bash(episode, "pwd; ls src")).output == "/workspace\ntinycalc\n"


async def test_a_grade_on_the_way_disturbs_nothing(play, fix):
    episode = await play()
    await bash(episode, "sleep 60 & export A=1; cd src")
    assert (await episode.grade()).score == 0.0
    await episode.step(fix)
    assert (await episode.grade()).score == 1.0
    seen = await bash(episode, "jobs; echo $A; pwd")
    assert "sleep 60" in seen.output
    assert seen.output.endswith("1\n/workspace/src\n")
    assert not episode.ended


async def test_a_fork_goes_its_own_way(play, fix):
    episode = await play()
    await bash(episode, "cd src; export A=1")
    twin = await episode.fork()
    try:
        assert twin.history == episode.history
        await twin.step(fix)
        assert (await bash(twin, "pwd; echo $A")).output == "/workspace/src\n1\n"
        assert len(episode.history.turns) == 1
        assert (await twin.step(SUBMIT)).reward == 1.0
        assert (await episode.step(SUBMIT)).reward == 0.0
    finally:
        await twin.close()


async def test_a_checkpoint_goes_on_elsewhere(play, fix, source, setting):
    episode = await play()
    await bash(episode, "cd src && export A='a b'; echo x > new; rm ../README.md; chmod +x new")
    await episode.step(call("run_tests"))
    kept = await episode.checkpoint()
    await bash(episode, "echo later > late")
    await episode.close()

    other = Episode(setting)
    try:
        seen = await other.resume(source.get("tiny-0"), kept)
        assert seen == kept.turns[-1].observation
        assert (seen.failing, seen.steps_left) == (1, 48)
        ls = await bash(other, 'pwd; echo "$A"; cat new; ls ..; [ -x new ] && echo exec; ls')
        assert ls.output.startswith("/workspace/src\na b\nx\npyproject.toml\nsrc\ntests\nexec\n")
        assert "late" not in ls.output
        assert ls.steps_left == 47
        await other.step(fix)
        assert (await other.step(SUBMIT)).reward == 1.0
        with pytest.raises(UsageError, match="is of task tiny-0"):
            await other.resume(source.get("tiny-1"), kept)
    finally:
        await other.close()


async def test_progress_pays_on_the_way_and_nothing_in_sum(play, fix):
    episode = await play(reward="progress", gamma=0.9)
    rewards = [(await episode.step(call("bash", command="ls"))).reward]
    rewards.append((await episode.step(fix)).reward)
    rewards.append((await episode.step(call("bash", command="ls"))).reward)
    rewards.append((await episode.step(SUBMIT)).reward)
    assert rewards == pytest.approx([0.0, 0.9, 0.9 - 1.0, 1.0 - 1.0])
    assert sum(0.9**n * reward for n, reward in enumerate(rewards)) == pytest.approx(0.9**3)


async def test_progress_is_lost_where_a_test_is_broken(play, fix):
    episode = await play(reward="progress")
    assert (await episode.step(fix)).reward == pytest.approx(1.0)
    broken = await episode.step(call("bash", command="echo 'x = (' >> src/tinycalc/arith.py"))
    assert broken.reward < 0


async def test_hidden_tests_are_in_nothing_that_a_policy_sees(play, source):
    episode = await play("tiny-hidden")
    (hidden,) = source.get("tiny-hidden").hidden
    for asked in (hidden, hidden + "x", hidden[:-1]):
        refused = await episode.step(call("run_tests", ids=[asked]))
        assert refused.observation.failing == -1
        told = refused.observation.output.replace(asked, "…")
        assert told.startswith("run_tests failed: ids: no shown test is '…'")
        assert hidden not in told
    ran = await episode.step(call("run_tests"))
    assert (ran.observation.failing, ran.observation.passing) == (1, 5)
    ended = await episode.step(SUBMIT)
    assert hidden in [outcome.id for outcome in ended.info.grade.outcomes]
    last_answers = [turn.observation.output for turn in episode.history.turns[3:]]
    for text in (episode.history.first.instruction, ended.info.grade.text, *last_answers):
        assert hidden not in text
