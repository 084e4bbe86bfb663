"""A Docker image as a sandbox's root: one layer in the store, the same files."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from codegym.sandbox.images.docker.archive import RootArchive
from codegym.sandbox.images.docker.build import Built
from codegym.sandbox.images.docker.engine import engine
from codegym.store import LayerStore
from codegym.store.cache import full_disk_explained

if TYPE_CHECKING:
    from docker import DockerClient


@dataclass(frozen=True, slots=True)
class Exported:
    """A root in the layer store.

    Attributes:
        image: The engine's id of the image that it was made from.
        layer: Its key there, which hashes its content.
        env: Variables that the image sets.
    """

    image: str
    layer: str
    env: Mapping[str, str]


def export_docker_image(
    built: Built, dockerfile: Path, store: LayerStore, progress: Callable[[str], None]
) -> Exported:
    """Make a root layer of an image; nothing is written where the store has its content.

    Args:
        built: The image.
        dockerfile: To blame.
        store: Where the layer goes.
        progress: Told, in words, what is being done.

    Raises:
        DataError: The image holds what no sandbox may, or lacks what each needs.
        UnavailableError: No engine answers, or a disk is full.
    """
    progress(f"exporting {built.tag}")
    with (
        engine() as client,
        full_disk_explained(store.root),
        tempfile.TemporaryFile(dir=store.root) as spool,
    ):
        env = _spool(client, built.id, spool)
        spool.seek(0)
        with tarfile.open(fileobj=spool, mode="r:") as archive:
            root = RootArchive(archive, dockerfile)
            key = f"docker-{root.digest()}"
            store.publish(key, root.write)
    return Exported(built.id, key, env)


def _spool(client: DockerClient, image: str, spool: IO[bytes]) -> dict[str, str]:
    """Write a container's files to ``spool``; returns its variables. It is never started."""
    container = client.containers.create(image, ["/bin/true"], network_mode="none")
    try:
        for part in container.export(chunk_size=1 << 20):
            spool.write(part)
        variables = container.attrs["Config"]["Env"] or []
    finally:
        container.remove(force=True)
    return dict(variable.split("=", 1) for variable in variables)
