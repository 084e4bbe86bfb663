"""Checkpoints: written as a whole or not at all, and gone on from exactly.

A folder that is trained into looks so, and is itself a model that can be loaded::

    train.json            what the training is pinned to
    metrics.jsonl         a line for each step
    checkpoints/step-7/   model and tokenizer, trainer.pt, what else is to be put back
    checkpoints/latest    a link to the newest; it is what makes a checkpoint count
    config.json, …        links into ``checkpoints/latest``
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from codegym.errors import DataError, UsageError
from codegym.runs.journal import writing
from codegym.runs.lock import WriterLock
from codegym.store import replacing, sync_folder

STATE_FILE = "trainer.pt"
_PINS = "train.json"
_LOCK = "train.lock"
_LATEST = "latest"
_KEPT = 2


class Checkpoints:
    """The one writer of a folder that is trained into: made anew, or gone on with.

    Args:
        path: The folder.
        pins: What, changed, would make it another training: names to values.

    Raises:
        UsageError: Another process writes it, it is no such folder, or it is pinned to something
            else, which is named.
        UnavailableError: It cannot be written.
    """

    def __init__(self, path: Path, pins: Mapping[str, str]) -> None:
        self.path, self._folder = path, path / "checkpoints"
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
        self._lock = WriterLock(path / _LOCK)
        try:
            self._claim(dict(pins))
        except BaseException:
            self._lock.release()
            raise

    def _claim(self, pins: dict[str, str]) -> None:
        file = self.path / _PINS
        if self.latest is not None and file.exists():
            _compare(file, pins)
        elif not file.exists() and (
            strangers := sorted(e.name for e in self.path.iterdir() if e.name != _LOCK)
        ):
            raise UsageError(
                f"{self.path} is no training (no {_PINS}) and not empty ({strangers[0]}…); "
                "choose another folder with --out"
            )
        else:  # where nothing was learned yet, nothing is gone on with
            with replacing(file) as draft:
                draft.write(json.dumps(pins, indent=2, ensure_ascii=False).encode() + b"\n")
        self._folder.mkdir(exist_ok=True)
        for left in self._folder.glob(".*"):  # of one that was killed while it wrote
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()

    @property
    def latest(self) -> Path | None:
        """The newest checkpoint, complete; None before the first."""
        link = self._folder / _LATEST
        return link.resolve() if link.is_symlink() else None

    def save(self, step: int, write: Callable[[Path], None]) -> Path:
        """Write a checkpoint; when this returns it is on the disk, and the newest.

        Args:
            step: Steps that were taken.
            write: Puts all files into the empty folder that it is given.
        """
        name = f"step-{step}"
        draft, final = self._folder / f".{name}", self._folder / name
        with writing(self.path):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            write(draft)
            for file in draft.rglob("*"):
                _sync(file)
            sync_folder(draft)
            if final.exists():  # of a start that was killed before it counted
                shutil.rmtree(final)
            draft.rename(final)
            _link(self._folder / _LATEST, name)
            for file in final.iterdir():
                known = file.name == STATE_FILE or (self.path / file.name).is_symlink()
                if file.is_file() and not known:
                    _link(self.path / file.name, f"checkpoints/{_LATEST}/{file.name}")
            self._prune()
        return final

    def _prune(self) -> None:
        """Keep the newest and the one before it, which someone may be reading."""
        steps = sorted(
            (int(entry.name.partition("-")[2]), entry) for entry in self._folder.glob("step-*")
        )
        for _, folder in steps[:-_KEPT]:
            shutil.rmtree(folder)

    def close(self) -> None:
        """Let go of the folder. Idempotent."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _compare(file: Path, pins: Mapping[str, str]) -> None:
    try:
        known = json.loads(file.read_bytes())
    except ValueError as error:
        raise DataError(file, f"not JSON: {error}") from error
    changed = [
        f"{name} was {known.get(name)!r}, is {pins.get(name)!r}"
        for name in sorted({*known, *pins})
        if known.get(name) != pins.get(name)
    ]
    if changed:
        raise UsageError(
            f"{file}: a training cannot go on with something else: {'; '.join(changed)}. "
            "Give what it was begun with, or choose another folder with --out"
        )


def _link(path: Path, target: str) -> None:
    """Make a link, or change where it points, in one step."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.symlink_to(target)
    draft.replace(path)
    sync_folder(path.parent)


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
