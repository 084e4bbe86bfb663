"""An image of ours as one of Docker's: the very same files, imported once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import tarfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast

from codegym.errors import UnavailableError
from codegym.sandbox.docker.engine import Engine
from codegym.types import Image

REPOSITORY = "codegym/root"
_IMPORTER = "1"  # raise it when the archive of the same layers changes
_PIECES = 64
_PIECE = 1 << 18


def tag_of(image: Image) -> str:
    """The tag of an image's files: layers are named for their content."""
    names = "\0".join((_IMPORTER, *(layer.name for layer in image.layers)))
    return hashlib.sha256(names.encode()).hexdigest()[:32]


def ensure_image(engine: Engine, image: Image) -> str:
    """Import an image where the engine does not have it; returns its name there. Blocks.

    Raises:
        UnavailableError: The image has no Python, or the engine's disk is full.
        SandboxError: The engine refused.
    """
    if not image.python:
        raise UnavailableError(
            f"the image {image.digest[:12]} has no Python, which Docker sandboxes are started with",
            "Name an interpreter in the environment's image",
        )
    tag = tag_of(image)
    name = f"{REPOSITORY}:{tag}"
    if not engine.has_image(name):
        with contextlib.closing(archive(image.layers)) as pieces:
            engine.import_image(pieces, REPOSITORY, tag)
    return name


class _Pipe:
    """A file for tarfile to write, read as pieces elsewhere."""

    def __init__(self) -> None:
        self.pieces: queue.Queue[bytes | BaseException | None] = queue.Queue(_PIECES)
        self.closed = False
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        self._buffer += data
        if len(self._buffer) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        if self.closed:
            raise BrokenPipeError
        self.pieces.put(bytes(self._buffer))
        self._buffer.clear()


def archive(layers: tuple[Path, ...]) -> Generator[bytes, None, None]:
    """The files of some layers, topmost first, as one archive; all belong to root."""
    pipe = _Pipe()

    def work() -> None:
        try:
            with tarfile.open(fileobj=cast("None", pipe), mode="w|", bufsize=_PIECE) as tar:
                _add(tar, layers)
            pipe.flush()
            pipe.pieces.put(None)
        except BrokenPipeError:  # nobody reads it any more
            return
        except OSError as error:
            pipe.pieces.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (piece := pipe.pieces.get()) is not None:
            if isinstance(piece, BaseException):
                raise piece
            if piece:
                yield piece
    finally:
        pipe.closed = True
        while thread.is_alive():
            with contextlib.suppress(queue.Empty):
                pipe.pieces.get(timeout=0.05)


def _add(tar: tarfile.TarFile, layers: tuple[Path, ...]) -> None:
    seen: set[str] = set()
    for layer in layers:
        for folder, folders, files in os.walk(layer):
            at = os.path.relpath(folder, layer)
            links = [name for name in folders if Path(folder, name).is_symlink()]
            for name in sorted((*folders, *files)):
                path = os.path.normpath(f"{at}/{name}")
                if path not in seen:
                    seen.add(path)
                    tar.add(f"{folder}/{name}", path, recursive=False, filter=_roots)
            folders[:] = sorted(set(folders) - set(links))


def _roots(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
