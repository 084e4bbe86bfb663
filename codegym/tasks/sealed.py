"""Sealed packs: encrypted at rest, open in memory only.

One file: a line of JSON that anyone may read (name, size, canary, which key), then the rows and
what ``pack.json`` says of them, compressed and sealed. The line is authenticated with them. Every
row carries the canary, so that a text that the rows got into can be told by it.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from codegym.errors import DataError
from codegym.store import replacing
from codegym.store.seal import seal_from_environment
from codegym.tasks.edge import Strict, first_problem
from codegym.tasks.environment_file import Name
from codegym.tasks.jsonl import Line, dump_object, parse_object
from codegym.tasks.pack import Pack, PackInfo, check_environments, parse_info
from codegym.tasks.rows import to_row
from codegym.tasks.task_file import Entry, FindEnvironment, Index, TaskFile, index_rows

if TYPE_CHECKING:
    from codegym.store.seal import Seal
    from codegym.types import TaskSource

SUFFIX = ".sealed"
CANARY = "canary"
_MAX_HEADER_BYTES = 64 * 1024
_MAX_PACK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class SealedInfo:
    """What a sealed pack says of itself without the key.

    Attributes:
        name: The pack's name.
        version: The pack's version.
        tasks: How many tasks there are.
        canary: A string that is in every row and nowhere else.
        key_id: Tells which key opens it.
    """

    name: str
    version: int
    tasks: int
    canary: str
    key_id: str


class _Header(Strict):
    codegym_sealed_pack: Literal[1]
    name: Name
    version: Annotated[int, Field(ge=1)]
    tasks: Annotated[int, Field(ge=1)]
    canary: str
    key_id: str


class SealedPack(TaskFile):
    """A task source over a sealed pack; its rows are in memory alone.

    Attributes:
        info: What its ``pack.json`` said.
        seal: What a run that plays it writes under.
    """

    def __init__(self, path: Path, rows: bytes, info: PackInfo, index: Index, seal: Seal) -> None:
        super().__init__(path, info.name, index)
        self._rows, self.info, self.seal = rows, info, seal

    @classmethod
    def open(cls, path: Path, find: FindEnvironment) -> SealedPack:
        """Open a sealed pack with the key of the environment.

        Raises:
            UsageError: There is no key.
            DataError: It is none, was changed, or was sealed under another key.
            UnavailableError: The library that opens it is not installed.
        """
        header, parsed, sealed = _split(path)
        seal = seal_from_environment()
        if seal.key_id != parsed.key_id:
            raise DataError(path, f"sealed under the key {parsed.key_id}, not {seal.key_id}")
        try:
            info_line, rows = _inflate(seal.open(sealed, header)).split(b"\n", 1)
        except ValueError as error:
            raise DataError(path, f"cannot be opened: {error}") from None
        info = parse_info(info_line, path)
        index = index_rows(path, find, _lines(rows))
        check_environments(path, info, index, find)
        return cls(path, rows, info, index, seal)

    def _readings(self, entry: Entry) -> Iterator[tuple[Path, bytes]]:
        yield self.path, self._rows[entry.offset : entry.offset + entry.length]


def seal_pack(pack: Pack, path: Path) -> SealedInfo:
    """Write a sealed copy of a pack, without its quarantined tasks.

    Args:
        pack: Is left as it is: to remove it is its owner's to do.
        path: The file; one that is there is replaced.

    Raises:
        UsageError: There is no key, or no task.
        UnavailableError: The library that seals is not installed.
    """
    seal = seal_from_environment()
    pack.require_any()
    canary = f"CODEGYM-CANARY-{secrets.token_hex(16)}"
    rows = b"".join(
        dump_object(to_row(replace(task, provenance={**task.provenance, CANARY: canary})))
        for task in pack
    )
    public = SealedInfo(pack.info.name, pack.info.version, len(pack), canary, seal.key_id)
    header = json.dumps({"codegym_sealed_pack": 1, **asdict(public)}).encode() + b"\n"
    content = json.dumps(asdict(pack.info)).encode() + b"\n" + rows
    with replacing(path) as file:
        file.write(header + seal.close(zlib.compress(content, 9), header))
    return public


def seal_of(source: TaskSource) -> Seal | None:
    """What a run on a source writes under: a seal, where the source is a sealed pack."""
    return source.seal if isinstance(source, SealedPack) else None


def read_sealed(path: Path) -> SealedInfo:
    """What a sealed pack says without the key. Raises ``DataError``."""
    _, header, _ = _split(path)
    return SealedInfo(**header.model_dump(exclude={"codegym_sealed_pack"}))


def _split(path: Path) -> tuple[bytes, _Header, bytes]:
    try:
        with path.open("rb") as file:
            header = file.readline(_MAX_HEADER_BYTES)
            sealed = file.read()
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    try:
        return header, _Header.model_validate(parse_object(header, path, 1)), sealed
    except ValidationError as error:
        field, problem = first_problem(error, {(): _Header})
        raise DataError(path, f"is no sealed pack: {problem}", field=field) from None


def _inflate(data: bytes) -> bytes:
    """Decompress, up to a bound. Raises ``ValueError``."""
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(data, _MAX_PACK_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not inflater.eof:
        raise ValueError(f"its rows are cut off, or longer than {_MAX_PACK_BYTES} bytes")
    return content


def _lines(rows: bytes) -> Iterator[Line]:
    offset = 0
    for number, raw in enumerate(BytesIO(rows), 1):
        yield Line(number, offset, raw)
        offset += len(raw)
