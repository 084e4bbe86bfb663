"""``codegym network``: what a policy of the network allows."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, plain, print_json, safe
from codegym.errors import UnavailableError

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

    found = find_policy(policy)
    registries = {kind: _ADDRESSES[kind]() for kind in found.registries}
    told = found.explain(url, registries, method)
    if json:
        print_json({"policy": found.path, **plain(told)})
        return
    verdict = f"allowed by rule {told.rule!r}" if told.allowed else "denied"
    console().print(f"{verdict}: {safe(told.reason)}", soft_wrap=True)


def _pip() -> list[str]:
    from codegym.authoring.packages.settings import pip_settings

    return [each for each in pip_settings().indexes if each.startswith("https://")]


def _npm() -> list[str]:
    """What npm says on the host; asked at home, as a project's own files do not count."""
    command = ["npm", "config", "get", "registry"]
    try:
        told = subprocess.run(
            command, cwd=Path.home(), capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(
            f"`{' '.join(command)}` failed: {error}",
            "Install npm on the host, or name the hosts in a policy of your own",
        ) from error
    return [told.stdout.strip()]


#: How a client on the host is asked for its registry's addresses.
_ADDRESSES: dict[str, Callable[[], list[str]]] = {"pip": _pip, "npm": _npm}
