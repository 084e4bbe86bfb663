"""A running sandbox's layers outlive a prune."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from codegym.errors import SandboxError
from codegym.store import LayerStore

KEY = "tree-0c0f0e01"


def build(folder: Path) -> None:
    (folder / "kept").write_text("here")


def prune_what_is_old(store: LayerStore) -> None:
    os.utime(store.root / ".locks" / KEY, (1, 1))
    store.prune(1000)


async def test_a_prune_spares_the_layers_of_running_sandboxes(backend, spec):
    store = LayerStore()
    layer = store.publish(KEY, build)
    async with await backend.start(replace(spec, workspace=layer)) as box:
        fork = await box.fork()
        await box.stop()
        prune_what_is_old(store)
        assert (await fork.shell("cat kept")).output == b"here"
        await fork.stop()
    prune_what_is_old(store)
    assert store.find(KEY) is None


async def test_a_layer_that_is_gone_is_infrastructure(backend, spec):
    missing = replace(spec, workspace=LayerStore().root / KEY)
    with pytest.raises(SandboxError, match="pruned before"):
        await backend.start(missing)
