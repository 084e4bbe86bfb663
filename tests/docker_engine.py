"""The Docker engine that tests marked ``docker`` use: `.ci/engine` and `.ci/base-image` make it."""

import os

import pytest

from codegym.errors import UnavailableError
from codegym.sandbox.images.docker import DEFAULT_BASE
from codegym.sandbox.images.docker.engine import engine


def require_engine() -> None:
    """Skip, and in CI fail, where no engine answers or it lacks the base image."""
    try:
        with engine() as client:
            tags = {tag for image in client.images.list() for tag in image.tags}
    except UnavailableError as error:
        _lacking(str(error))
    if f"{DEFAULT_BASE}:latest" not in tags:
        _lacking(f"the engine has no image {DEFAULT_BASE}. Run `.ci/base-image`")


def _lacking(problem: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(problem)
    pytest.skip(problem)


@pytest.fixture(scope="session")
def docker_images() -> None:
    """That there are images to build and look at."""
    require_engine()
