"""``codegym train``: policies that learn. One file for each subcommand."""

from __future__ import annotations

import typer

from codegym.cli import train_rl, train_sb3, train_sft

app = typer.Typer(help="Train a policy on tasks.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Keep a command a command of its own, even where there is only one."""


app.command("sft")(train_sft.sft)
app.command("rl")(train_rl.rl)
app.command("sb3")(train_sb3.sb3)
