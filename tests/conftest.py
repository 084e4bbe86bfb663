"""What all tests share: a cache folder of their own, and settled hypothesis profiles."""

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis
import pytest
from docker_built import docker_images

__all__ = ["docker_images"]

hypothesis.settings.register_profile("codegym", deadline=None, derandomize=True)
hypothesis.settings.load_profile("codegym")


@pytest.fixture(scope="session", autouse=True)
def session_cache():
    """Keep the user's cache out of tests; set ``CODEGYM_CACHE`` to keep images between runs."""
    if "CODEGYM_CACHE" in os.environ:
        yield os.environ["CODEGYM_CACHE"]
        return
    folder = tempfile.mkdtemp(prefix="codegym-tests-")
    Path(folder).chmod(0o755)  # sandboxes run as another user when the tests are root
    os.environ["CODEGYM_CACHE"] = folder
    yield folder
    del os.environ["CODEGYM_CACHE"]
    shutil.rmtree(folder, ignore_errors=True)
