"""What an index answered in an episode, beside its log: the same is answered again.

A folder with ``about.json`` (which index, as of when), ``projects/NAME.json`` (what is left of each
project that was asked for; ``null`` for one that is not there) and ``files/DIGEST`` (each file that
was handed over) or ``files/DIGEST.refused`` (why it was not).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

_SPOOL = "spool-"


class RecordError(ValueError):
    """A record cannot be used."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in the record, or the reason why it is not there."""

    path: Path
    refused: str = ""


class Record:
    """The record of one index in one episode.

    Args:
        folder: Where it is.
        about: What the index is; one that is there already has to be of the same.
        replay: Whether nothing is written, and what is not there is absent.

    Raises:
        RecordError: It is of another index or date, or a replay's is not there.
    """

    def __init__(self, folder: Path, about: dict[str, str], *, replay: bool = False) -> None:
        self._folder, self.replay = folder, replay
        described = folder / "about.json"
        if not replay:
            for each in (folder, folder / "projects", folder / "files"):
                each.mkdir(mode=0o700, exist_ok=True, parents=True)
            for left in folder.glob(f"{_SPOOL}*"):  # by a proxy that was killed
                left.unlink()
            if not described.exists():
                self._write(described, json.dumps(about))
        try:
            before = json.loads(described.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RecordError(f"no record of an index is at {folder}: {error}") from error
        if before != about:
            raise RecordError(f"the record at {folder} is of another index: {before}, not {about}")

    def project(self, name: str) -> tuple[bool, Any]:
        """Whether a project was asked for before, and what was left of it."""
        try:
            text = self._project(name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return self.replay, None
        return True, json.loads(text)

    def keep_project(self, name: str, dumped: Any) -> None:
        """Write down what is left of a project."""
        self._write(self._project(name), json.dumps(dumped))

    def file(self, digest: str) -> Kept | None:
        """A file that was asked for before."""
        path = self._folder / "files" / digest
        if path.exists():
            return Kept(path)
        try:
            return Kept(path, _refused(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Kept(path, "it is not in the record") if self.replay else None

    @contextmanager
    def spool(self) -> Iterator[IO[bytes]]:
        """A file on the record's disk that is gone afterwards, unless it was kept."""
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=_SPOOL, delete=False) as file:
            try:
                yield file
            finally:
                Path(file.name).unlink(missing_ok=True)

    def keep_file(self, digest: str, spooled: Path) -> Kept:
        """Make a spooled file part of the record."""
        path = self._folder / "files" / digest
        spooled.rename(path)
        return Kept(path)

    def refuse_file(self, digest: str, why: str) -> Kept:
        """Write down why a file is not handed over."""
        path = self._folder / "files" / digest
        self._write(_refused(path), why)
        return Kept(path, why)

    def _project(self, name: str) -> Path:
        return self._folder / "projects" / f"{quote(name, safe='')}.json"

    def _write(self, path: Path, text: str) -> None:
        with self.spool() as file:
            file.write(text.encode())
            file.flush()
            Path(file.name).rename(path)


def _refused(path: Path) -> Path:
    return path.with_name(f"{path.name}.refused")
