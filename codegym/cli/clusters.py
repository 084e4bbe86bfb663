"""The options that put episodes on a Ray cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from codegym.envs.stage import Stage

RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Play on a Ray cluster: HOST:PORT, auto, or local. Tasks and seeds are the same.",
        show_default=False,
    ),
]
RayActors = Annotated[
    int, typer.Option("--ray-actors", min=1, help="Actors on the cluster, a CPU each.")
]


@asynccontextmanager
async def stage_on(address: str | None, actors: int, sandbox: str) -> AsyncIterator[Stage | None]:
    """The cluster as a stage; None where there is no address: this process plays."""
    if address is None:
        yield None
        return
    from codegym.integrations.ray import on_ray

    async with on_ray(address, actors=actors, sandbox=sandbox) as stage:
        yield stage
