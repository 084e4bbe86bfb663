"""``codegym environment``: repositories made into environments."""

from __future__ import annotations

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, print_json, safe

app = typer.Typer(
    help="Repositories made into environments.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_environments(json: Json = False) -> None:
    """List the environments: your own below ./.codegym, and the bundled ones."""
    from codegym.tasks import sources

    found = sources.environments()
    if json:
        print_json(
            {
                name: {"summary": one.summary, "folder": one.folder, "digest": one.digest}
                for name, one in found.items()
            }
        )
        return
    out = console()
    for name, one in found.items():
        out.print(f"{name:<16} {safe(one.summary)}  ({one.language}, {one.license})")
