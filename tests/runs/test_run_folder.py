"""A run folder survives being killed at any byte, and refuses what would spoil it."""

import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.envs.checkpoint import Checkpoint
from codegym.errors import DataError, NotFoundError, UnavailableError, UsageError
from codegym.runs import Pins, RunFolder, TrajectoryHeader, open_run
from codegym.runs.codec import decode, encode
from codegym.types import (
    Action,
    Attestation,
    Change,
    EpisodeResult,
    Grade,
    Manifest,
    Observation,
    Refusal,
    ShellState,
    Tampering,
    Task,
    TestOutcome,
    TokenTrace,
    Trajectory,
    Turn,
    call,
)

PINS = Pins(
    codegym="0.1.0",
    env_id="CodeGym/FixTests-v0",
    kind="FixTests",
    tasks="tiny",
    tasks_digest="d" * 64,
    environments={"tiny": "e"},
    images={"tiny": "i"},
    requirements={"tiny": "r"},
    policy="oracle",
    policy_version="1",
    sampling={},
    samples=1,
    seed=0,
    options={"reward": "solved"},
)
FIRST = Observation("do it", "", 5)


def a_task(index: int = 0) -> Task:
    return Task(
        f"tiny-{index}", "tiny", "c" * 40, "patch", ("t::a",), ("t::b",), hidden=frozenset({"t::b"})
    )


def a_turn(number: int = 0) -> Turn:
    action = Action(call("bash", command=f"echo {number} é"), TokenTrace((1,), (2, 3), (-0.5, 0.0)))
    return Turn(action, Observation("do it", f"{number}\n", 4 - number, 0), 0.0, 0.01)


def a_result(index: int = 0, turns: int = 2, fault: str = "") -> EpisodeResult:
    trajectory = Trajectory(
        f"tiny-{index}", "oracle", 7, FIRST, tuple(a_turn(n) for n in range(turns)), terminated=True
    )
    grade = Grade(
        1.0,
        (TestOutcome("t::a", "passed", 0.1),),
        1.0,
        1.0,
        (Refusal("x", "symlink"),),
        (Tampering("git", "", "looked"),),
        durations_sec={"total": 0.5},
        text="fine",
        assurance="observed",
        forging_bound=2.0**-64,
        protection={"observed": 2},
        siblings=3,
        siblings_passed=3,
        hard_codable=False,
    )
    work = Manifest((Change("a.bin", b"\xff\x00\n"), Change("b", None)), (Refusal("l", "symlink"),))
    return EpisodeResult(
        index=index,
        task=a_task(index),
        trajectory=trajectory,
        grade=None if fault else grade,
        reward=1.0,
        fault=fault,  # type: ignore[arg-type]
        diff="--- a\n",
        reset_sec=0.01,
        seconds=1.5,
        attestation=Attestation({"extra_files": 0}),
        work=work,
    )


def write_live(run: RunFolder, result: EpisodeResult) -> None:
    """Write a result as a loop does: turn by turn."""
    trajectory = result.trajectory
    run.begin(TrajectoryHeader(result.index, 7, "oracle", result.task, FIRST))
    for turn in trajectory.turns:
        run.turn(result.index, turn)
    run.finish(result)


def test_what_is_written_is_read_back(tmp_path):
    with RunFolder(tmp_path / "run", PINS) as run:
        assert not run.resumed
        write_live(run, a_result(0))
        run.finish(a_result(1))  # turns that were not written live are written at the end
    read = open_run(tmp_path / "run")
    assert read.pins == PINS
    assert [read.episode(0), read.episode(1)] == [a_result(0), a_result(1)]
    assert [record.steps for record in read.episodes()] == [2, 2]
    assert [record.tokens for record in read.episodes()] == [4, 4]


def test_work_is_base64(tmp_path):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result())
    row = json.loads((tmp_path / "episodes.jsonl").read_text())
    assert row["work"]["changes"][0]["data"] == "_wAK"


@pytest.mark.parametrize("name", ["episodes.jsonl", "trajectories/000001.jsonl"])
def test_killed_at_any_byte(tmp_path, name):
    """Cut one of the files at every length; the run opens, loses no whole line, and finishes."""
    with RunFolder(tmp_path, PINS) as run:
        write_live(run, a_result(0))
        write_live(run, a_result(1))
    episodes, file = tmp_path / "episodes.jsonl", tmp_path / name
    lines, data = episodes.read_bytes().splitlines(keepends=True), file.read_bytes()
    for length in range(len(data) + 1):
        # Killed in the second episode, it has no line yet.
        episodes.write_bytes(b"".join(lines) if file == episodes else lines[0])
        file.write_bytes(data[:length])
        whole = data[:length].count(b"\n") if file == episodes else 1
        assert [record.index for record in open_run(tmp_path).episodes()] == [0, 1][:whole]
        with RunFolder(tmp_path, PINS) as run:
            assert run.resumed
            assert run.finished == set(range(whole))
            for index in range(whole, 2):
                write_live(run, a_result(index))
        assert [open_run(tmp_path).episode(index) for index in (0, 1)] == [a_result(0), a_result(1)]


def test_killed_while_it_made_the_pins(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / ".run.json.new").write_bytes(b'{"codegym":')
    with RunFolder(tmp_path, PINS) as run:
        assert not run.resumed
    assert open_run(tmp_path).pins == PINS


def test_kill_9_of_a_real_writer(tmp_path):
    """A process that writes as fast as it can is killed; what it had finished is there."""
    script = f"""
        import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]
        from test_run_folder import *
        with RunFolder(Path({str(tmp_path)!r}), PINS) as run:
            for index in range(10**9):
                write_live(run, a_result(index)); print(index, flush=True)
    """
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    for line in writer.stdout:
        if int(line) >= 20:
            break
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read().split()
    writer.stdout.close()
    writer.wait()
    said = int(rest[-1]) if rest else 20
    with RunFolder(tmp_path, PINS) as run:  # the kernel dropped the dead writer's lock
        assert run.finished >= set(range(said + 1))
        write_live(run, a_result(max(run.finished) + 1))
    assert all(record.steps == 2 for record in open_run(tmp_path).episodes())


def test_a_reader_changes_nothing_and_leaves_out_a_torn_tail(tmp_path):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result(0))
    file = tmp_path / "episodes.jsonl"
    torn = file.read_bytes() + b'{"index": 1, "task'
    file.write_bytes(torn)
    assert [record.index for record in open_run(tmp_path).episodes()] == [0]
    assert file.read_bytes() == torn


def test_a_broken_line_in_the_middle_is_named_and_kept(tmp_path):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result(0))
        run.finish(a_result(1))
    file = tmp_path / "episodes.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    broken = lines[0].replace(b'"steps": 2', b'"steps": "many"') + lines[1]
    file.write_bytes(broken)
    with pytest.raises(DataError, match=r"episodes\.jsonl:1: steps"):
        RunFolder(tmp_path, PINS)
    assert file.read_bytes() == broken
    with pytest.raises(DataError):  # and the lock was let go: the same error, not "is writing"
        RunFolder(tmp_path, PINS)


def test_two_writers(tmp_path):
    with RunFolder(tmp_path, PINS), pytest.raises(UsageError, match=f"process {os.getpid()} is"):
        RunFolder(tmp_path, PINS)
    RunFolder(tmp_path, PINS).close()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"policy": "noop"}, "policy was 'oracle', is 'noop'"),
        ({"seed": 1}, "seed was '0', is '1'"),
        ({"images": {"tiny": "j"}}, "images.tiny was 'i', is 'j'"),
        ({"images": {}}, "images.tiny was 'i', is 'absent'"),
        ({"options": {"reward": "progress"}}, "options.reward was 'solved', is 'progress'"),
    ],
)
def test_resuming_with_something_else_is_refused(tmp_path, change, told):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result())
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(UsageError, match=told.replace("'", ".")):
        RunFolder(tmp_path, dataclasses.replace(PINS, **change))
    del before[tmp_path / "lock"]
    assert {file: file.read_bytes() for file in before} == before
    RunFolder(tmp_path, PINS).close()


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match=r"not a run.*thesis\.tex"):
        RunFolder(tmp_path, PINS)
    with pytest.raises(NotFoundError, match="no run named"):
        open_run(tmp_path)


def test_a_file_is_no_run_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(UsageError, match=r"--out .*/file is a file"):
        RunFolder(file, PINS)
    assert file.read_text() == "mine"


def test_a_full_disk_loses_nothing(tmp_path):
    """The file-size limit of this process stands for a full disk: both stop a write part-way."""
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result(0))
        size = (tmp_path / "episodes.jsonl").stat().st_size
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
        try:
            with pytest.raises(UnavailableError, match="goes on where it was"):
                run.finish(a_result(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        assert (tmp_path / "episodes.jsonl").stat().st_size == size
        run.finish(a_result(1))
    assert [record.index for record in open_run(tmp_path).episodes()] == [0, 1]


def test_an_episode_that_infrastructure_broke_is_run_again(tmp_path):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result(0, fault="sandbox"))
        run.finish(a_result(1, fault="task"))
    with RunFolder(tmp_path, PINS) as run:
        assert run.finished == {1}
        run.finish(a_result(0))
        assert run.finished == {0, 1}
    assert [record.fault for record in open_run(tmp_path).episodes()] == ["", "task"]
    assert open_run(tmp_path).episode(0).grade is not None


def test_a_checkpoint_leads_back_to_its_turn(tmp_path):
    work, turns = Manifest((Change("a", b"\xfe"),)), (a_turn(0), a_turn(1))
    point = Checkpoint("tiny-3", 7, turns, work, ShellState("/x", "e"), 9.0)
    with RunFolder(tmp_path, PINS) as run:
        run.begin(TrajectoryHeader(3, 7, "oracle", a_task(3), FIRST))
        for number in range(3):
            run.turn(3, a_turn(number))
            if number == 1:
                run.checkpoint(3, point)
    with RunFolder(tmp_path, PINS) as run:
        assert run.resume_point(2) is None
        assert run.resume_point(3) == point
        assert run.checkpoints() == {3: point}
        run.begin(TrajectoryHeader(3, 7, "oracle", a_task(3), FIRST), turns=2)
        run.turn(3, a_turn(2))
        run.finish(a_result(3, turns=3))
        assert run.checkpoints() == {}
    assert open_run(tmp_path).episode(3) == a_result(3, turns=3)


def test_there_is_no_such_episode(tmp_path):
    with RunFolder(tmp_path, PINS) as run:
        run.finish(a_result(4))
    with pytest.raises(NotFoundError, match=r"'3'.*has 1 \(4 to 4\)"):
        open_run(tmp_path).episode(3)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=30), st.binary(max_size=30), st.floats(allow_nan=False))
def test_any_text_and_bytes_come_back(text, data, number):
    turn = Turn(Action(text), Observation(text, text, 1), number, 0.0)
    assert decode(Turn, encode(turn), Path("x")) == turn
    work = Manifest((Change(text, data),))
    assert decode(Manifest, encode(work), Path("x")) == work
    assert b"\n" not in encode(turn)


def test_a_lone_surrogate_does_not_stop_a_run():
    turn = Turn(Action("\ud800"), FIRST, 0.0, 0.0)
    assert decode(Turn, encode(turn), Path("x")).action.text == "?"
