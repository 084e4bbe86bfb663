"""What is measured at each step: a line of JSON, and TensorBoard where it is installed."""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from codegym.errors import DataError
from codegym.runs.journal import Journal, full_lines

METRICS_FILE = "metrics.jsonl"
_BOARD = "tensorboard"


class Metrics:
    """The one writer of a training's metrics.

    Args:
        path: The training's folder.
        step: Steps that the checkpoint has which is gone on from; what was measured after it is
            dropped, and will be measured again.
    """

    def __init__(self, path: Path, step: int) -> None:
        self._journal = Journal(path / METRICS_FILE)
        self._journal.cut(step)
        self._board = _board(path / _BOARD, step)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Note a step's values; what is no number is null."""
        line = {"step": step, **{key: _rounded(value) for key, value in values.items()}}
        self._journal.append(json.dumps(line, allow_nan=False).encode())
        if self._board is not None:
            for key, value in values.items():
                self._board.add_scalar(key, value, step)

    def sync(self) -> None:
        """Wait until all is on the disk."""
        self._journal.sync()
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        """Close. Idempotent."""
        self._journal.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The lines of a training's folder, in order; null is left out.

    Raises:
        DataError: There are none, or one is broken.
    """
    file, found = path / METRICS_FILE, []
    for number, line in full_lines(file):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise DataError(file, f"not JSON: {error}", line=number) from error
        found.append({key: float(value) for key, value in values.items() if value is not None})
    if not found:
        raise DataError(file, "no step was measured yet; is this the folder of a training?")
    return found


def _rounded(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _board(folder: Path, step: int) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=step + 1)
