"""The repository's tree as a layer at ``/workspace``, for a build's commands."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from codegym.sandbox.images.settling import settle
from codegym.store import LayerStore
from codegym.types import WORKSPACE, Tree


def tree_digest(tree: Tree) -> str:
    """Hash of paths, modes and content."""
    total = hashlib.sha256()
    for path, file in sorted(tree.items()):
        total.update(f"{path}\0{file.mode}\0{len(file.data)}\0".encode() + file.data)
    return total.hexdigest()


def source_layer(tree: Tree, store: LayerStore) -> Path:
    """Return the layer that holds a trusted tree at ``/workspace``."""

    def build(dest: Path) -> None:
        for path, file in sorted(tree.items()):
            target = dest / WORKSPACE.lstrip("/") / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.mode == "120000":
                target.symlink_to(os.fsdecode(file.data))
                continue
            target.write_bytes(file.data)
            target.chmod(0o755 if file.mode == "100755" else 0o644)
        settle(dest)

    return store.publish(f"source-{tree_digest(tree)}", build)
