"""Reading a run folder, also while it is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codegym.errors import DataError, NotFoundError
from codegym.runs.codec import decode
from codegym.runs.journal import full_lines
from codegym.runs.layout import EPISODES_FILE, RUN_FILE, trajectory_file
from codegym.runs.pins import Pins
from codegym.runs.records import EpisodeRecord, TrajectoryHeader
from codegym.runs.traces import read_turns
from codegym.types import EpisodeResult, Turn


def read_records(run: Path) -> Iterator[EpisodeRecord]:
    """Finished episodes in the order they ended; a torn last line is left out."""
    file = run / EPISODES_FILE
    for number, line in full_lines(file):
        yield decode(EpisodeRecord, line, file, number)


def read_trajectory(run: Path, index: int) -> tuple[TrajectoryHeader, tuple[Turn, ...]]:
    """An episode's header and turns, also of one that did not finish.

    Raises:
        DataError: The file is missing or broken.
    """
    file = trajectory_file(run, index)
    lines = full_lines(file)
    first = next(lines, None)
    if first is None:
        raise DataError(file, "there is no trajectory")
    header = decode(TrajectoryHeader, first[1], file, 1)
    return header, tuple(read_turns(lines, file))


class Run:
    """A recorded run. Reading changes nothing."""

    def __init__(self, path: Path, pins: Pins) -> None:
        self.path, self.pins = path, pins

    def episodes(self) -> list[EpisodeRecord]:
        """Finished episodes by index; where one was run again, the last."""
        final = {record.index: record for record in read_records(self.path)}
        return [final[index] for index in sorted(final)]

    def turns(self, index: int) -> tuple[Turn, ...]:
        """An episode's turns alone. Raises ``DataError`` where there are none."""
        return read_trajectory(self.path, index)[1]

    def episode(self, index: int) -> EpisodeResult:
        """One finished episode, whole.

        Raises:
            NotFoundError: There is none with that index.
        """
        record = None
        known = []
        for candidate in read_records(self.path):
            known.append(candidate.index)
            if candidate.index == index:
                record = candidate
        if record is None:
            there = f"{min(known)} to {max(known)}" if known else "none yet"
            raise NotFoundError(
                "finished episode", str(index), hint=f"{self.path} has {len(known)} ({there})"
            )
        return record.result(*read_trajectory(self.path, index))


def open_run(path: Path | str) -> Run:
    """Open a recorded run for reading.

    Raises:
        NotFoundError: There is no run there.
        DataError: ``run.json`` is broken.
    """
    file = Path(path) / RUN_FILE
    if not file.exists():
        raise NotFoundError("run", str(path), hint=f"there is no {RUN_FILE} in it")
    return Run(Path(path), decode(Pins, file.read_bytes(), file))
