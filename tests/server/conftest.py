"""A small image and a server of its sandboxes, in this process."""

from dataclasses import replace

import pytest
from serving import TOKEN, serving

from codegym.sandbox.backends import pick
from codegym.sandbox.conformance import workspace
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.root import list_root, write_listing
from codegym.sandbox.images.settling import settle
from codegym.store import LayerStore
from codegym.types import Image, SandboxSpec


@pytest.fixture(autouse=True)
def _token(monkeypatch):
    monkeypatch.setenv("CODEGYM_TOKEN", TOKEN)


@pytest.fixture
async def local():
    made = pick("bubblewrap")
    yield made
    await made.close()


@pytest.fixture
async def server(local):
    async with serving(local) as made:
        yield made


def programs(folder):
    """A root without an interpreter: little to hash, in each test anew."""
    listing = list_root(Interpreter.running())
    left = {at: source for at, source in listing.files.items() if "python" not in f"{source}"}
    write_listing(folder, replace(listing, files=left))
    settle(folder)


@pytest.fixture
def spec():
    store = LayerStore()
    root = store.publish("root-0c0f0e00", programs)
    layer = store.publish("tree-0c0f0e12", lambda folder: workspace(folder, None))
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/agent"}
    return SandboxSpec(Image("small", (root,), env), layer)


@pytest.fixture
async def client(server):
    made = server.client()
    yield made
    await made.close()
