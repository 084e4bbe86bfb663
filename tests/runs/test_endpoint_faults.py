"""Episodes whose policy depends on an endpoint: what a run folder keeps of them."""

from dataclasses import replace

from codegym.envs.checkpoint import Checkpoint
from codegym.runs import Pins, RunFolder, open_run, summarize
from codegym.runs.folder import header_of
from codegym.types import (
    Action,
    EpisodeResult,
    Fault,
    Grade,
    Manifest,
    Observation,
    ShellState,
    Task,
    Trajectory,
    Turn,
    Usage,
    call,
)

PINS = Pins("0", "id", "k", "t", "d", {}, {}, {}, "chat:m", "1", {}, 1, 0, {})
FIRST = Observation("do it", "", 5)


def a_turn(number: int) -> Turn:
    action = Action(
        call("bash", command=f"echo {number}"), usage=Usage(3, 1), thought="é", note="n"
    )
    return Turn(action, Observation("do it", "", 4 - number, 0), 0.0, 0.01)


def a_result(fault: Fault = "") -> EpisodeResult:
    trajectory = Trajectory("t", "1", 7, FIRST, (a_turn(0), a_turn(1)), terminated=True)
    task = Task("t", "e", "c", "p", ("x",), ())
    return EpisodeResult(0, task, trajectory, None if fault else Grade(1.0), 0.0, fault=fault)


def test_an_episode_that_its_endpoint_broke_goes_on_from_its_checkpoint(tmp_path):
    turns = (a_turn(0), a_turn(1))
    point = Checkpoint("t", 7, turns[:1], Manifest(), ShellState("/x", "e"), 9.0)
    broken = a_result("policy")
    with RunFolder(tmp_path, PINS) as run:
        run.begin(header_of(broken))
        for turn in turns:
            run.turn(0, turn)
        run.checkpoint(0, point)
        run.finish(broken)
        assert run.finished == frozenset()
    with RunFolder(tmp_path, PINS) as run:
        assert run.checkpoints() == {0: point}
        run.finish(a_result())
        assert (run.finished, run.checkpoints()) == ({0}, {})


def test_tokens_of_all_attempts_are_known_when_it_goes_on(tmp_path):
    costly = replace(a_turn(0), action=Action("x", usage=Usage(30, 12)))
    for expected, fault in ((0, "policy"), (42, ""), (84, "")):
        result = a_result(fault)
        with RunFolder(tmp_path, PINS) as run:
            assert run.tokens_spent == expected
            run.finish(replace(result, trajectory=replace(result.trajectory, turns=(costly,))))
    (record,) = open_run(tmp_path).episodes()
    assert (record.tokens, record.prompt_tokens) == (12, 30)
    summary = summarize([record])
    assert (summary.tokens, summary.prompt_tokens, summary.policy_faults) == (12, 30, 0)
