"""Making a finished layer tell nothing of when and by whom it was made."""

from __future__ import annotations

import os
from pathlib import Path

#: 2020-01-01, the time of everything in a layer that has no time of its own.
EPOCH_SEC = 1_577_836_800


def settle(dest: Path, *, file_times: bool = False) -> None:
    """Give folders mode 0755, and everything in ``dest`` one time.

    ``file_times`` keeps those of regular files: bytecode is good for one time of its source only.
    """
    times = (EPOCH_SEC, EPOCH_SEC)
    for where, folders, names in os.walk(dest, topdown=False):
        for name in (*folders, *names):
            path = Path(where, name)
            if path.is_symlink() or not file_times:
                os.utime(path, times, follow_symlinks=False)
        Path(where).chmod(0o755)
        os.utime(where, times)
