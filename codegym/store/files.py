"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codegym.store.cache import full_disk_explained


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that takes ``path``'s place, durably, when the block ends without an error.

    A reader sees the old content or the new, never a part; after an error the old one stands.

    Raises:
        UnavailableError: The disk is full.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with full_disk_explained(path.parent):
        try:
            with draft.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(path.parent)


def remove_drafts(path: Path) -> None:
    """Remove what killed writers of ``path`` left; only where no other can be at work."""
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames within ``folder`` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
