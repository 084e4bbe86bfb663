"""Where on disk an ext4 file system puts new folders."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

# From <linux/fs.h>, for 64-bit longs; elsewhere the kernel refuses the numbers, which is as well.
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_TOP_OF_HIERARCHIES = 0x00020000


def spread(folder: Path) -> None:
    """Have folders made in ``folder`` placed apart from each other, where the file system can.

    ext4 puts a folder's files near it. The inode of a file deleted within the last minutes is not
    used again, yet each is looked at in vain: after some thousands of deletions nearby (a pruned
    cache, a test run) a new file took 0.7 ms in place of 0.01 ms.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # another file system, or another owner: nothing is lost
            # The kernel reads and writes an int, whatever size the number names.
            (flags,) = struct.unpack_from("i", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8)))
            if not flags & _TOP_OF_HIERARCHIES:
                wanted = struct.pack("i4x", flags | _TOP_OF_HIERARCHIES)
                fcntl.ioctl(descriptor, _SET_FLAGS, wanted)
    finally:
        os.close(descriptor)
