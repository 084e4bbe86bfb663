"""``codegym environment``: repositories made into environments."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, print_json, safe

if TYPE_CHECKING:
    from codegym.authoring import Added

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


@app.command("add")
def add_environment(
    spec: Annotated[
        str,
        typer.Argument(metavar="SPEC", help="pypi:NAME==VERSION, for example pypi:toolz==1.1.0"),
    ],
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make an environment of a published package, below ./.codegym/environments.

    Its source is fetched from the index that your pip uses. It must be pure Python and bring pytest
    tests; those that do not pass every time are left out. Its code runs in sandboxes only.
    """
    from codegym import authoring
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting

    async def make() -> Added:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await authoring.add_environment(spec, setting, progress=steps)

    added = asyncio.run(make())
    if json:
        print_json(
            {
                "name": added.name,
                "folder": added.folder,
                "tests": added.tests,
                "excluded": added.reasons,
                "seconds": added.seconds,
            }
        )
        return
    out = console()
    out.print(f"{added.name}: {added.tests} tests pass, in {added.seconds:.1f} s", style="bold")
    for reason, count in added.reasons.items():
        out.print(f"  {count} left out: {safe(reason)}", soft_wrap=True)
    out.print(f"{added.folder}", style="dim", soft_wrap=True)
    out.print(f"codegym tasks from-patch {added.name} bug.patch", style="dim")
