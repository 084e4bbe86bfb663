"""The Docker engine that images are built by, and what its errors mean to a user."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegym.errors import UnavailableError
from codegym.sandbox.docker.engine import MEND, innermost

if TYPE_CHECKING:
    from docker import DockerClient

#: How an engine's error ends when its disk is full.
NO_SPACE = "no space left on device"
#: A step of a build may be silent for so long.
_SILENT_SEC = 1800


@contextmanager
def engine() -> Iterator[DockerClient]:
    """Connect to the engine that ``DOCKER_HOST`` names, by default the machine's own.

    Raises:
        UnavailableError: The SDK is missing, no engine answers, it refuses, or its disk is full.
    """
    try:
        import docker
        from docker.errors import APIError, DockerException
        from requests.exceptions import RequestException
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the Docker SDK for Python is not installed (no module {error.name})",
            "Run `pip install 'codegym[docker]'`",
        ) from error
    where = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    _knock(where)
    try:
        client = docker.from_env(timeout=_SILENT_SEC)
    except DockerException as error:  # it has asked for the version already
        problem = f"no Docker engine answers at {where}: {innermost(error)}"
        raise UnavailableError(problem, MEND) from error
    try:
        yield client
    except APIError as error:
        raise explained(str(error.explanation or error)) from error
    except RequestException as error:
        problem = f"the Docker engine at {where} is gone: {innermost(error)}"
        raise UnavailableError(problem, MEND) from error
    finally:
        client.close()


def explained(said: str) -> UnavailableError:
    """What the engine said, with the mend."""
    if NO_SPACE in said:
        return UnavailableError(
            f"the disk of the Docker engine is full: {said}",
            "`docker system df` says what takes it, `docker system prune` frees what is not used",
        )
    return UnavailableError(f"the Docker engine refused: {said}", "See its log, and `docker info`")


def _knock(where: str) -> None:
    """See whether somebody listens: where nobody does, the SDK leaves a socket open."""
    if where.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as trying:
            try:
                trying.connect(where.removeprefix("unix://"))
            except OSError as error:
                problem = f"no Docker engine answers at {where}: {error.strerror or error}"
                raise UnavailableError(problem, MEND) from error
