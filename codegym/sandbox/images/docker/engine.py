"""The Docker engine that images are built by, and what its errors mean to a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegym.errors import UnavailableError
from codegym.sandbox.docker.engine import MEND, connect, host, innermost

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
    client = connect(_SILENT_SEC)
    from docker.errors import APIError
    from requests.exceptions import RequestException

    try:
        yield client
    except APIError as error:
        raise explained(str(error.explanation or error)) from error
    except RequestException as error:
        problem = f"the Docker engine at {host()} is gone: {innermost(error)}"
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
