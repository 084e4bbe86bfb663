"""``codegym environment``: repositories made into environments."""

from __future__ import annotations

import asyncio
from pathlib import Path
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
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REFERENCE",
            help="pypi:NAME==VERSION, a folder, or a git repository (path or address)",
        ),
    ],
    subdir: Annotated[
        str, typer.Option(help="The project's folder in the repository.", metavar="FOLDER")
    ] = ".",
    name: Annotated[str, typer.Option(help="The environment's name. Default: the project's.")] = "",
    declared: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="TOML with services, system_packages and env, as environment.toml has them, and "
            "wheel, the path of one whose compiled modules are taken.",
        ),
    ] = None,
    timeout_sec: Annotated[
        float, typer.Option(min=1, help="Wall time of one run of its tests.")
    ] = 900.0,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make an environment of a package, repository or folder, below ./.codegym/environments.

    It must be Python and bring tests that pytest can run (unittest's, too). Those that do not pass
    every time and in any order are left out. Compiled modules are taken from a wheel that fits this
    Python. Its code runs in sandboxes only.
    """
    from codegym import authoring
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting

    declaration = authoring.read_declaration(declared) if declared else authoring.Declaration()

    async def make() -> Added:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await authoring.add_environment(
                    reference,
                    setting,
                    subdir=subdir.strip("/") or ".",
                    name=name,
                    declaration=declaration,
                    timeout_sec=timeout_sec,
                    progress=steps,
                )

    _show(asyncio.run(make()), json=json)


def _show(added: Added, *, json: bool) -> None:
    if json:
        print_json(
            {
                "name": added.name,
                "folder": added.folder,
                "tests": added.tests,
                "excluded": added.reasons,
                "notes": added.notes,
                "seconds": added.seconds,
            }
        )
        return
    out = console()
    out.print(f"{added.name}: {added.tests} tests pass, in {added.seconds:.1f} s", style="bold")
    for reason, count in added.reasons.items():
        out.print(f"  {count} left out: {safe(reason)}", soft_wrap=True)
    for note in added.notes:
        out.print(f"  {safe(note)}", soft_wrap=True)
    out.print(f"{added.folder}", style="dim", soft_wrap=True)
    out.print(f"codegym generate {added.name} --count 20", style="dim")
