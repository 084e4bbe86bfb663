"""Reading a source distribution as data: nothing is extracted, linked or run."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from codegym.errors import DataError
from codegym.types import File, Mode, Tree
from codegym.workspace.names import is_bytecode, is_tool_cache, tree_problem

MAX_UNPACKED_BYTES = 256 * 1024**2
MAX_FILES = 20_000
_GZIP = 31  # zlib's name for "a gzip header, and the largest window"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a source distribution holds.

    Attributes:
        tree: Its files, below its one folder.
        newest: Time of the newest file, seconds since 1970.
    """

    tree: Tree
    newest: int


def unpack_sdist(data: bytes, name: str) -> Unpacked:
    """Read a ``.tar.gz`` whose files all lie in one folder.

    Args:
        data: The archive.
        name: Its file name, for errors.

    Raises:
        DataError: It is no such archive; holds a link, a device or a path that leads out; or is too
            large, however small it is packed.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_expanded(data, name)), mode="r:") as archive:
            entries = list(_files(archive, name))
    except (tarfile.TarError, zlib.error, OverflowError, ValueError, EOFError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(name, f"is no whole .tar.gz archive: {error}") from error
    tops = {path.partition("/")[0] for path, _, _ in entries}
    if len(tops) != 1 or any("/" not in path for path, _, _ in entries):
        raise DataError(name, "its files do not lie in one folder, as in a source distribution")
    tree = {
        inner: file
        for path, file, _ in entries
        if not is_bytecode(inner := path.partition("/")[2]) and not is_tool_cache(inner)
    }
    if problem := tree_problem(tree):
        raise DataError(name, problem)
    return Unpacked(dict(sorted(tree.items())), max(time for _, _, time in entries))


def _expanded(data: bytes, name: str) -> bytes:
    reader = zlib.decompressobj(_GZIP)
    whole = reader.decompress(data, MAX_UNPACKED_BYTES + 1)
    if len(whole) > MAX_UNPACKED_BYTES:
        raise DataError(name, f"unpacks to more than {MAX_UNPACKED_BYTES // 1024**2} MiB")
    if not reader.eof:
        raise EOFError("it is cut off")
    return whole


def _files(archive: tarfile.TarFile, name: str) -> Iterator[tuple[str, File, int]]:
    count = total = 0
    for member in archive:
        count, total = count + 1, total + member.size
        if count > MAX_FILES or total > MAX_UNPACKED_BYTES:
            raise DataError(name, f"holds more than {MAX_FILES} files, or too large ones")
        path = member.name.removeprefix("./").rstrip("/")
        parts = path.split("/")
        if path.startswith("/") or ".." in parts or not path.isprintable() or "" in parts[1:]:
            raise DataError(name, f"holds {member.name!r}, a path that leads out or is no name")
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            raise DataError(name, f"holds {path!r}, which is no ordinary file (a link, a device)")
        content = archive.extractfile(member)
        if content is None:
            raise DataError(name, f"{path!r} cannot be read")
        mode: Mode = "100755" if member.mode & 0o100 else "100644"
        yield path, File(content.read(), mode), int(member.mtime)
