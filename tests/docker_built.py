"""Images that tests build, in an engine that `.ci/engine` and `.ci/base-image` can make."""

import os

import pytest

from codegym.errors import UnavailableError
from codegym.sandbox.images.docker import DEFAULT_BASE
from codegym.sandbox.images.docker.build import REPOSITORY
from codegym.sandbox.images.docker.engine import engine


@pytest.fixture(scope="session")
def docker_images():
    """Skip, and in CI fail, where no engine answers or it lacks the base image.

    Images that tests build are shared by them all, and go at the end.
    """
    try:
        before = _tags()
    except UnavailableError as error:
        _lacking(str(error))
    if f"{DEFAULT_BASE}:latest" not in before:
        _lacking(f"the engine has no image {DEFAULT_BASE}. Run `.ci/base-image`")
    yield
    with engine() as client:
        for tag in _tags() - before:
            if tag.startswith(f"{REPOSITORY}:"):
                client.images.remove(tag)


def _tags() -> set[str]:
    with engine() as client:
        return {tag for image in client.images.list() for tag in image.tags}


def _lacking(problem: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)
