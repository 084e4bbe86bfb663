"""An environment's root out of its Dockerfile: built, exported, and known from then on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from codegym.sandbox.images.docker.build import DEFAULT_BASE, build_docker_image, dockerfile_of
from codegym.sandbox.images.docker.context import recipe
from codegym.sandbox.images.docker.export import Exported, export_docker_image
from codegym.store import LayerStore, replacing
from codegym.store.cache import refusal_explained
from codegym.tasks import Environment

#: Beside the layers: which of them is the root that a Dockerfile made last.
_FOLDER = ".exported"


async def docker_root(
    environment: Environment, store: LayerStore, progress: Callable[[str], None]
) -> Exported:
    """The root that was exported last for the same Dockerfile and lock, else a new one.

    It takes no engine where it is known. Raises what ``build_docker_image`` and
    ``export_docker_image`` raise.
    """
    known = _known(environment, store)
    return known or await new_docker_root(environment, store, progress)


async def new_docker_root(
    environment: Environment,
    store: LayerStore,
    progress: Callable[[str], None],
    *,
    base: str = DEFAULT_BASE,
) -> Exported:
    """Build the image where its content is new, export it, and let ``docker_root`` find it."""
    dockerfile = dockerfile_of(environment)
    built = await build_docker_image(environment, base=base, store=store, progress=progress)
    known = _known(environment, store)
    if known is not None and known.image == built.id:
        return known
    exported = await asyncio.to_thread(export_docker_image, built, dockerfile, store, progress)
    record = _record(environment, store)
    with refusal_explained(record):
        record.parent.mkdir(exist_ok=True)
        with replacing(record) as file:
            file.write(json.dumps(asdict(exported)).encode())
    return exported


def _known(environment: Environment, store: LayerStore) -> Exported | None:
    """What was exported last, where its layer is still there."""
    record = _record(environment, store)
    if not record.is_file():
        return None
    known = Exported(**json.loads(record.read_text()))
    return known if store.find(known.layer) else None


def _record(environment: Environment, store: LayerStore) -> Path:
    key = recipe(environment, dockerfile_of(environment)).key("")
    return store.root / _FOLDER / f"{key}.json"
