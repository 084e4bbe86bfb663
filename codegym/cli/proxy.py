"""``codegym proxy``: the interpreter that the egress proxy runs in."""

from __future__ import annotations

import typer

from codegym.cli.options import Json
from codegym.cli.output import activity, console, print_json

app = typer.Typer(
    help="The egress proxy, a process of its own.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def group() -> None:
    """Keep ``install`` a command of its own."""


@app.command("install")
def install(json: Json = False) -> None:
    """Make the interpreter that the egress proxy runs in; done on first use, too."""
    from codegym.network.install import install as make

    with activity() as say:
        say("looking for mitmproxy's interpreter, or making it")
        made = make()
    if json:
        print_json({"python": made.python, "mitmproxy": made.mitmproxy, "note": made.note})
        return
    console().print(f"mitmproxy {made.mitmproxy} in {made.python}", soft_wrap=True)
    if made.note:
        console(stderr=True).print(f"note: {made.note}", soft_wrap=True)
