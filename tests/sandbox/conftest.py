"""A backend and a spec over a real image, shared by the sandbox's tests."""

import pytest
import pytest_asyncio
from docker_boxes import require_engine
from support import make_tiny_environment

from codegym.sandbox.backends import pick
from codegym.sandbox.conformance import workspace
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.types import SandboxSpec


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
async def backend():
    made = pick("bubblewrap")
    yield made
    await made.close()


@pytest.fixture
async def spec(backend, tiny):
    image = await build_image(tiny, backend)
    layer = LayerStore().publish("tree-0c0f0e00", lambda folder: workspace(folder, backend.owner))
    return SandboxSpec(image, layer)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def docker_backend():
    require_engine()
    made = pick("docker")
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def docker_spec(docker_backend, tiny):
    image = await build_image(tiny, docker_backend)
    owner = docker_backend.owner
    layer = LayerStore().publish("tree-0c0f0e00", lambda folder: workspace(folder, owner))
    return SandboxSpec(image, layer)
