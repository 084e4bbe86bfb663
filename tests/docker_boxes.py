"""The Docker engine that tests use: the one that ``DOCKER_HOST`` names, or the usual one."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from codegym.errors import UnavailableError
from codegym.sandbox.docker.engine import Engine

#: Marks of a module whose tests share one backend, and so one event loop.
SHARED = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]


@cache
def _problem() -> str:
    try:
        Engine().close()
    except UnavailableError as error:
        return str(error)
    return ""


def require_engine() -> None:
    """Skip, loudly, where there is no engine; in CI, fail."""
    if problem := _problem():
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)


@contextmanager
def engine() -> Iterator[Engine]:
    """The engine, to look at what is there."""
    require_engine()
    made = Engine()
    try:
        yield made
    finally:
        made.close()


def taking(stream: bytes) -> Callable[[int], bytes]:
    """A function that returns the next so many bytes."""
    return io.BytesIO(stream).read
