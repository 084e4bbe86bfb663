"""Placing folders apart is a matter of speed only: where it cannot be, nothing else changes."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

import pytest

from codegym.store import LayerStore
from codegym.store.spread import spread

GET_FLAGS = 0x80086601


def flags_of(folder: Path) -> int | None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return struct.unpack_from("i", fcntl.ioctl(descriptor, GET_FLAGS, bytes(8)))[0]
    except OSError:
        return None
    finally:
        os.close(descriptor)


def on_ext(folder: Path) -> bool:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    inside = [m for m in mounts if folder.resolve().is_relative_to(m[1])]
    return max(inside, key=lambda mount: len(mount[1]))[2] in ("ext2", "ext3", "ext4")


def test_a_stores_layers_are_spread_and_the_layers_themselves_are_not(tmp_path):
    if not on_ext(tmp_path):
        pytest.skip("no ext4 here")
    store = LayerStore(tmp_path / "layers")
    layer = store.publish("tree-12345678", lambda folder: (folder / "src").mkdir())
    assert (flags_of(store.root) or 0) & 0x20000
    assert not (flags_of(layer / "src") or 0) & 0x20000
    LayerStore(tmp_path / "layers")
    assert (flags_of(store.root) or 0) & 0x20000


def test_where_the_file_system_cannot_nothing_happens():
    assert flags_of(Path("/proc/self")) is None
    spread(Path("/proc/self"))
