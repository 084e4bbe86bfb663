"""``codegym image``: what sandboxes start from, made of environments' Dockerfiles."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, print_json, safe
from codegym.errors import DataError

if TYPE_CHECKING:
    from codegym.sandbox.images.docker import Built
    from codegym.store import LayerStore
    from codegym.tasks import Environment
    from codegym.types import Image

app = typer.Typer(
    help="Images of environments, made of their Dockerfiles by a Docker engine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_BASE = "codegym-base"
Name = Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="An environment's name.")]
Base = Annotated[
    str, typer.Option(help="Image to start from: any with git and Python 3.11 or newer.")
]


@app.command("build")
def build(name: Name, base: Base = _BASE, json: Json = False) -> None:
    """Build an environment's Dockerfile, without a network; at once where nothing changed.

    DOCKER_HOST says which engine does it.
    """
    from codegym.cli.steps import Steps
    from codegym.sandbox.images.docker import build_docker_image
    from codegym.tasks.sources import environment

    home = environment(name)
    with Steps() as steps:
        built = asyncio.run(build_docker_image(home, base=base, progress=steps.note))
    if json:
        print_json(_as_json(built))
        return
    how = f"built in {built.seconds:.1f} s" if built.seconds else "there already"
    console().print(f"{built.tag}  {built.megabytes:.0f} MB, {how}", soft_wrap=True)


@app.command("export")
def export(name: Name, base: Base = _BASE, json: Json = False) -> None:
    """Make an environment's Docker image a root for every kind of sandbox; builds it if needed.

    Sandboxes of BACKEND+dockerfile start from it: `--sandbox bubblewrap+dockerfile`.
    """
    from codegym.cli.steps import Steps
    from codegym.sandbox.images.build import dockerfile_image
    from codegym.sandbox.images.docker import new_docker_root
    from codegym.store import LayerStore
    from codegym.store.layers import disk_bytes
    from codegym.tasks.sources import environment

    home, store = environment(name), LayerStore()
    with Steps() as steps:
        made = asyncio.run(new_docker_root(home, store, steps.note, base=base))
        image = dockerfile_image(home, made, store)
        steps.note("comparing it with the solved tree")
        _require_no_answer(home, image, store)
    size = disk_bytes(image.layers[0])
    if json:
        print_json({"digest": image.digest, "layer": image.layers[0], "bytes": size})
        return
    console().print(f"{image.layers[0]}  {size / 1e6:.0f} MB", soft_wrap=True)
    console().print(
        f"codegym run --tasks {name} --sandbox bubblewrap+dockerfile", style="dim", soft_wrap=True
    )


def _require_no_answer(environment: Environment, image: Image, store: LayerStore) -> None:
    """Raise ``DataError`` where a function of the newest, solved tree is in the image, too."""
    from codegym.sandbox.images import shared_functions
    from codegym.workspace.history import open_history

    tree = open_history(environment).tree_at(environment.head)
    for match in shared_functions(image, tree, store):
        raise DataError(
            environment.image.dockerfile or environment.folder,
            f"its image holds {match.function} of {match.path}, as {match.image_function} in "
            f"{match.image_path}: that is the answer; choose a base image without it",
        )


@app.command("list")
def list_images(json: Json = False) -> None:
    """List the images that were built here, as the engine has them."""
    from codegym.sandbox.images.docker import list_docker_images

    found = list_docker_images()
    if json:
        print_json({"images": [_as_json(one) for one in found]})
        return
    for one in found:
        console().print(safe(f"{one.tag}  {one.megabytes:.0f} MB"), soft_wrap=True)


def _as_json(built: Built) -> dict[str, object]:
    return {
        "environment": built.environment,
        "tag": built.tag,
        "id": built.id,
        "megabytes": built.megabytes,
        "seconds": built.seconds,
    }
