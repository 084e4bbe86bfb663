"""What a training keeps in its folder, so that it goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from codegym.envs.marking import Tally
from codegym.errors import DataError, UsageError
from codegym.store import replacing

_PINS = "train.json"
_PROGRESS = "progress.json"
_RESULTS = "results.json"
_MODEL = "model.zip"


@dataclass
class Progress:
    """How far it came.

    Attributes:
        steps: Attempts made in training.
        seconds: Wall time of training, without evaluations.
        episodes: Ended.
        solved: Of those.
        tally: What was graded.
    """

    steps: int = 0
    seconds: float = 0.0
    episodes: int = 0
    solved: int = 0
    tally: Tally = field(default_factory=Tally)


class TrainFolder:
    """A folder of one training; only one process trains in it.

    Args:
        path: The folder, which is there.
        pins: What makes this training this one; another in the same folder is refused.

    Raises:
        UsageError: The folder is another training's. ``DataError``: a file of it is broken.
    """

    def __init__(self, path: Path, pins: Mapping[str, Any]) -> None:
        self.path = path
        known = self._read(_PINS)
        wanted = json.loads(json.dumps(pins))
        if known and known != wanted:
            other = sorted(k for k in {*known, *wanted} if known.get(k) != wanted.get(k))
            raise UsageError(
                f"{path} is a training with another {', '.join(other)}; name another folder with "
                "--out, or give the same options to go on with it"
            )
        self._write(_PINS, wanted)

    @property
    def memo(self) -> Path:
        """The file of grades."""
        return self.path / "grades.sqlite"

    @property
    def model(self) -> Path:
        """The newest checkpoint."""
        return self.path / _MODEL

    def progress(self) -> Progress:
        """How far it came."""
        found = self._read(_PROGRESS)
        tally = Tally(**found.pop("tally", {}))
        return Progress(**found, tally=tally)

    def checkpoint(self, model: Any, progress: Progress) -> None:
        """Keep a model, then how far it came: a crash in between costs a checkpoint at most."""
        draft = self.path / f".{_MODEL}"
        model.save(draft)
        draft.replace(self.model)
        self._write(_PROGRESS, asdict(progress))

    def results(self) -> dict[str, Any]:
        """What was measured so far."""
        return self._read(_RESULTS)

    def note(self, name: str, result: Any) -> None:
        """Keep what was measured."""
        self._write(_RESULTS, self.results() | {name: result})

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        if not path.exists():
            return {}
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(path, f"cannot be read: {error}") from error
        return found

    def _write(self, name: str, value: Any) -> None:
        with replacing(self.path / name) as file:
            file.write(json.dumps(value, indent=1).encode() + b"\n")
