"""Git, run hermetically: no configuration, hooks, templates, pagers, prompts or transports.

Only ever on repositories that the user trusts: never in a folder that an agent could write.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO

from codegym.errors import CodeGymError, UnavailableError

_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "",  # a partial clone fetches what it lacks, running what its config says
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "TZ": "UTC",
    "XDG_CONFIG_HOME": "/nonexistent",
}

# A repository's own configuration is still read: what in it could run a program or touch files that
# the command does not name is overruled here.
_OVERRULED = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.directory=*",
)


class GitError(CodeGymError, RuntimeError):
    """Git refused; callers turn this into whose fault it is."""


def run(
    *arguments: str,
    folder: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout_sec: float | None = None,
) -> bytes:
    """Run git in ``folder`` and return its standard output.

    Raises:
        GitError: It failed or took too long; the message is what it said.
        UnavailableError: There is no git on this machine.
    """
    try:
        done = subprocess.run(
            _command(arguments, folder),
            input=stdin,
            capture_output=True,
            env=_env(env),
            check=False,
            timeout=timeout_sec,
        )
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git {arguments[0]}: not done within {timeout_sec:.0f} s") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise GitError(f"git {arguments[0]}: {said}")
    return done.stdout


@contextmanager
def conversation(*arguments: str, folder: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Git as a process to talk with: yields its standard input and output.

    Raises:
        GitError: It ended before it was done with.
    """
    process = subprocess.Popen(
        _command(arguments, folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_env(None),
    )
    if process.stdin is None or process.stdout is None:
        raise GitError(f"git {arguments[0]}: no pipes")
    try:
        with process:  # closes the pipes, then waits
            yield process.stdin, process.stdout
    except BrokenPipeError as error:
        raise GitError(f"git {arguments[0]}: it ended too soon") from error


def _command(arguments: Sequence[str], folder: Path) -> list[str]:
    options = [part for setting in _OVERRULED for part in ("-c", setting)]
    return [_program(), "--no-pager", "-C", str(folder), *options, *arguments]


def _env(extra: Mapping[str, str] | None) -> dict[str, str]:
    return {**_ENVIRONMENT, "PATH": str(Path(_program()).parent), **(extra or {})}


@lru_cache(maxsize=1)
def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise UnavailableError("git is not installed", "Install it, for example: apt install git")
    return found
