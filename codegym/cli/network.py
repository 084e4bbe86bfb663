"""``codegym network``: what a policy of the network allows, and what episodes asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import EpisodeNumber, Json, RunPath
from codegym.cli.output import console, counted, plain, print_json, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from codegym.network.log import Entry

app = typer.Typer(
    help="What a sandbox may reach, and by which rule.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("explain")
def explain(
    policy: Annotated[str, typer.Argument(help="A policy's name, or the path of a .toml file.")],
    url: Annotated[str, typer.Argument(help="An address, such as https://example.org/a.")],
    method: Annotated[str, typer.Option(help="The request's method.")] = "GET",
    json: Json = False,
) -> None:
    """Say whether a policy allows an address, and by which rule; exit status 1 if it does not."""
    from codegym.network.policy import find_policy
    from codegym.network.registries import registry_addresses

    found = find_policy(policy)
    told = found.explain(url, registry_addresses(found.registries), method)
    if json:
        print_json({"policy": found.path, **plain(told)})
    else:
        verdict = f"allowed by rule {told.rule!r}" if told.allowed else "denied"
        console().print(f"{verdict}: {safe(told.reason)}", soft_wrap=True)
    if not told.allowed:
        raise typer.Exit(1)


@app.command("log")
def log(run: RunPath, episode: EpisodeNumber = 0, json: Json = False) -> None:
    """Show what an episode asked of the network, with each verdict."""
    from codegym.network.log import read_log
    from codegym.runs import open_run
    from codegym.runs.layout import network_file

    recorded = open_run(run)
    recorded.episode(episode)  # says so where there is none
    policy = recorded.pins.options.get("network", "none")
    path = network_file(run, episode)
    entries = read_log(path) if path.exists() else ()
    if json:
        print_json({"policy": policy, "entries": [plain(entry) for entry in entries]})
        return
    told = sum(entry.event == "request" for entry in entries)
    denied = sum(not entry.allowed for entry in entries)
    summary = f"policy {safe(policy)}: {counted(told, 'request')}, {denied} denied"
    console().print(summary, soft_wrap=True)
    if entries:
        console().print(_table(entries))


def _table(entries: Sequence[Entry]) -> Table:
    from rich.table import Table

    table = Table("s", "what", box=None, pad_edge=False)
    table.add_column("where", overflow="fold", min_width=30)
    table.add_column("verdict")
    table.add_column("why")
    began = entries[0].time
    for entry in entries:
        if entry.event == "connect" and entry.allowed:
            continue  # its requests follow
        where = f"{entry.host}:{entry.port}" if entry.host else ""
        verdict = "allowed" if entry.allowed else "denied"
        table.add_row(
            f"{entry.time - began:.1f}",
            safe(f"{entry.event} {entry.method}".rstrip()),
            safe(f"{where}{entry.target}"),
            verdict,
            safe(_why(entry)),
            style="" if entry.allowed else "yellow",
        )
    return table


def _why(entry: Entry) -> str:
    if entry.status:
        return f"status {entry.status}, {entry.bytes} bytes"
    return entry.error or entry.reason
