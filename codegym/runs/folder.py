"""Writing a run folder (see ``layout``)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from codegym.envs.checkpoint import Checkpoint
from codegym.errors import UsageError
from codegym.runs.codec import decode, encode
from codegym.runs.journal import Journal, replace, writing
from codegym.runs.layout import (
    CHECKPOINTS,
    EPISODES_FILE,
    LOCK_FILE,
    NETWORK,
    RUN_FILE,
    TRAJECTORIES,
    checkpoint_file,
    trajectory_file,
)
from codegym.runs.lock import WriterLock
from codegym.runs.pins import Pins
from codegym.runs.reader import read_records, read_trajectory
from codegym.runs.records import CheckpointRecord, EpisodeRecord, TrajectoryHeader
from codegym.runs.traces import TurnRecords
from codegym.store.seal import Seal
from codegym.types import EpisodeResult, Fault, Turn


class RunFolder:
    """The one writer of a run: made anew, or resumed where it was.

    Args:
        path: The folder.
        pins: What the run is pinned to.
        seal: Of a sealed pack: all that episodes leave is sealed under its key.

    Attributes:
        tokens_spent: Tokens read and sampled in episodes that ended before, faulty ones included.

    Raises:
        UsageError: Another process writes it; it is pinned to something else; it is no run, or
            no folder.
        DataError: One of its files is broken.
        UnavailableError: It cannot be written.
    """

    def __init__(self, path: Path, pins: Pins, seal: Seal | None = None) -> None:
        self.path, self.pins, self._seal = path, pins, seal
        with writing(path):
            if path.exists() and not path.is_dir():
                raise UsageError(f"--out {path} is a file, where a run's folder is wanted")
            path.mkdir(parents=True, exist_ok=True)
        self._open: dict[int, _OpenTrajectory] = {}
        with ExitStack() as undo:
            undo.callback(WriterLock(path / LOCK_FILE).release)
            self.resumed = self._claim()
            with writing(path):
                for name in (TRAJECTORIES, CHECKPOINTS, NETWORK):
                    (path / name).mkdir(exist_ok=True)
            self._episodes = undo.enter_context(Journal(path / EPISODES_FILE))
            self._faults: dict[int, Fault] = {}
            self.tokens_spent = 0
            for record in read_records(path):
                self._faults[record.index] = record.fault
                self.tokens_spent += record.tokens + record.prompt_tokens
            self._held = undo.pop_all()

    def _claim(self) -> bool:
        """Write the pins, or hold them against those that are there; whether they were there."""
        file = self.path / RUN_FILE
        if not file.exists():
            strangers = sorted(entry.name for entry in self.path.iterdir())
            strangers = [name for name in strangers if name not in (LOCK_FILE, f".{RUN_FILE}.new")]
            if strangers:
                raise UsageError(
                    f"{self.path} is not a run (no {RUN_FILE}) and not empty ({strangers[0]}…); "
                    "choose another folder with --out"
                )
            replace(file, encode(self.pins) + b"\n")
            return False
        differences = decode(Pins, file.read_bytes(), file).differences(self.pins)
        if differences:
            told = "; ".join(f"{name} was {old!r}, is {new!r}" for name, old, new in differences)
            raise UsageError(
                f"{file}: a run cannot go on with something else: {told}. "
                "Give what it was begun with, or choose another folder with --out"
            )
        return True

    @property
    def finished(self) -> frozenset[int]:
        """Episodes that need not be run again: all but those that infrastructure broke."""
        over = (index for index, fault in self._faults.items() if fault in ("", "task"))
        return frozenset(over)

    def begin(self, header: TrajectoryHeader, turns: int = 0) -> None:
        """Start an episode's trajectory, or go on after its first ``turns`` turns."""
        self._close(header.index)
        self._open[header.index] = _OpenTrajectory(self.path, header, turns, self._seal)

    def turn(self, index: int, turn: Turn) -> None:
        """Append a turn as it happens."""
        self._open[index].append(turn)

    def checkpoint(self, index: int, checkpoint: Checkpoint) -> None:
        """Note where a long episode is; its turns so far are in its trajectory already."""
        record = CheckpointRecord.of(index, checkpoint)
        replace(checkpoint_file(self.path, index), encode(record, self._seal))

    def checkpoints(self) -> dict[int, Checkpoint]:
        """Where unfinished episodes were, by index."""
        files = (self.path / CHECKPOINTS).glob("[0-9]*.json")
        points = {index: self.resume_point(index) for index in sorted(int(f.stem) for f in files)}
        return {index: point for index, point in points.items() if point is not None}

    def resume_point(self, index: int) -> Checkpoint | None:
        """The checkpoint of an unfinished episode, if there is one that its trajectory reaches."""
        file = checkpoint_file(self.path, index)
        if index in self.finished or not file.exists():
            return None
        record = decode(CheckpointRecord, file.read_bytes(), file)
        turns = read_trajectory(self.path, index)[1]
        return record.checkpoint(turns) if len(turns) >= record.turns else None

    def finish(self, result: EpisodeResult) -> EpisodeRecord:
        """Record a finished episode; its trajectory is whole before its line is there."""
        index, turns = result.index, result.trajectory.turns
        trajectory = self._open.get(index)
        if trajectory is None or trajectory.turns != len(turns):
            self.begin(header_of(result))
            for turn in turns:
                self.turn(index, turn)
        self._close(index)
        record = EpisodeRecord.of(result)
        self._episodes.append(encode(record, self._seal))
        self._faults[index] = result.fault
        if result.fault != "policy":  # such an episode goes on from there when it is retried
            checkpoint_file(self.path, index).unlink(missing_ok=True)
        return record

    def close(self) -> None:
        """Close all files and let go of the folder. Idempotent."""
        for index in list(self._open):
            self._close(index)
        self._held.close()

    def _close(self, index: int) -> None:
        trajectory = self._open.pop(index, None)
        if trajectory is not None:
            trajectory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _OpenTrajectory:
    """The file of an episode that is running."""

    def __init__(self, run: Path, header: TrajectoryHeader, turns: int, seal: Seal | None) -> None:
        self._seal = seal
        self._journal = Journal(trajectory_file(run, header.index))
        self.turns = turns
        before: tuple[Turn, ...] = ()
        if turns:
            before = read_trajectory(run, header.index)[1][:turns]
            self._journal.cut(1 + turns)
        else:
            self._journal.clear()
            self._journal.append(encode(header, seal))
        self._records = TurnRecords(before)

    def append(self, turn: Turn) -> None:
        self._journal.append(encode(self._records.record(turn), self._seal))
        self.turns += 1

    def close(self) -> None:
        self._journal.close()


def header_of(result: EpisodeResult) -> TrajectoryHeader:
    """The header of a result's trajectory."""
    trajectory = result.trajectory
    return TrajectoryHeader(
        index=result.index,
        seed=trajectory.seed,
        policy=trajectory.policy,
        task=result.task,
        first=trajectory.first,
    )
