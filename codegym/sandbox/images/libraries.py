"""Which shared libraries a set of binaries needs, as this machine's own loader finds them."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from codegym.errors import UnavailableError

_FOUND = re.compile(r"^\s+(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_BATCH = 400
_TIMEOUT_SEC = 120.0


def needed_by(binaries: Iterable[Path]) -> set[Path]:
    """The libraries that ``binaries`` load, the loader among them, by the path they are found at.

    What the host lacks is left out: it does not run here either.

    Raises:
        UnavailableError: There is no ``ldd``.
    """
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        raise UnavailableError(
            "there is no ldd, which says what libraries a program needs",
            "Install the C library's tools (on Debian and Ubuntu: `apt-get install libc-bin`)",
        )
    elves = [str(path) for path in binaries if _is_elf(path)]
    found: set[Path] = set()
    for start in range(0, len(elves), _BATCH):
        ran = subprocess.run(
            [ldd, *itertools.islice(elves, start, start + _BATCH)],
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},  # above all without LD_LIBRARY_PATH
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SEC,
            check=False,  # 1 where any of them is static
        )
        found.update(Path(path) for path in _FOUND.findall(ran.stdout.decode(errors="replace")))
    return found


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
