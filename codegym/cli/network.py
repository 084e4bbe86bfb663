"""``codegym network``: what a policy of the network allows."""

from __future__ import annotations

from typing import Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, plain, print_json, safe

app = typer.Typer(
    help="What a sandbox may reach, and by which rule.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Keep ``explain`` a command of its own."""


@app.command("explain")
def explain(
    policy: Annotated[str, typer.Argument(help="A policy's name, or the path of a .toml file.")],
    url: Annotated[str, typer.Argument(help="An address, such as https://example.org/a.")],
    method: Annotated[str, typer.Option(help="The request's method.")] = "GET",
    json: Json = False,
) -> None:
    """Say whether a policy allows an address, and by which rule."""
    from codegym.network.policy import find_policy
    from codegym.network.registries import registry_addresses

    found = find_policy(policy)
    told = found.explain(url, registry_addresses(found.registries), method)
    if json:
        print_json({"policy": found.path, **plain(told)})
        return
    verdict = f"allowed by rule {told.rule!r}" if told.allowed else "denied"
    console().print(f"{verdict}: {safe(told.reason)}", soft_wrap=True)
