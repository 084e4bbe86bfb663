"""The command: run the checks, print them, say whether sandboxes work here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json, Sandbox
from codegym.cli.output import console, print_json
from codegym.errors import UnavailableError

if TYPE_CHECKING:
    from codegym.cli.doctor.checks import Check

_MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "fail": ("FAIL", "bold red")}


def doctor(
    json: Json = False,
    sandbox: Sandbox = "auto",
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove the containers that killed processes left.")
    ] = False,
) -> None:
    """Check this machine, and say how to mend what is missing.

    Exit status 3 where something that CodeGym needs is missing.
    """
    from codegym.cli.doctor.checks import all_checks

    checks = asyncio.run(all_checks(sandbox, clean=clean))
    works = all(check.state != "fail" for check in checks)
    if json:
        print_json({"ok": works, "checks": {check.name: check.as_json() for check in checks}})
    else:
        _print(checks, works)
    if not works:
        raise typer.Exit(UnavailableError.exit_status)


def _print(checks: list[Check], works: bool) -> None:
    out = console()
    width = max(len(check.name) for check in checks)
    for check in checks:
        mark, style = _MARKS[check.state]
        out.print(f"{mark:<5}", style=style, end="")
        out.print(f"{check.name:<{width}}  {check.found}", soft_wrap=True)
        if check.mend:
            out.print(f"{'':<{width + 7}}{check.mend}", style="dim", soft_wrap=True)
    out.print()
    out.print("Sandboxes work here." if works else "CodeGym cannot work here yet; see above.")
