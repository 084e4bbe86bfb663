"""``codegym pack``: packs made of others, and packs that are kept encrypted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, counted, plain, print_json, safe
from codegym.errors import UsageError

SealedPath = Annotated[Path, typer.Argument(metavar="FILE", help="A sealed pack.")]

app = typer.Typer(
    help="Split packs of tasks, and seal them.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("key")
def key() -> None:
    """Print a new key. Keep it apart from what it seals, and set CODEGYM_PACK_KEY to it."""
    from codegym.store.seal import new_key

    sys.stdout.write(new_key() + "\n")


@app.command("seal")
def seal(
    pack: Annotated[str, typer.Argument(metavar="PACK", help="A pack by name, or by its path.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write; none may be there.")],
    json: Json = False,
) -> None:
    """Write an encrypted copy of a pack, to be played as --tasks sealed:FILE.

    The key is that of CODEGYM_PACK_KEY. A run on a sealed pack is sealed too, under the same key:
    without it, neither says what was asked, done or answered. The pack itself is left as it is.
    """
    from codegym.tasks import Pack, resolve
    from codegym.tasks.sealed import seal_pack

    if out.exists():
        raise UsageError(f"--out {out} is there already; name another, or remove it")
    found = resolve(pack)
    if type(found) is not Pack or found.narrowed:
        raise UsageError(f"{pack!r} is no pack: name one, or write one with codegym generate --out")
    info = seal_pack(found, out)
    if json:
        print_json({"file": out, **plain(info)})
        return
    screen = console()
    screen.print(f"{counted(info.tasks, 'task')} of {info.name} sealed under key {info.key_id}")
    screen.print(f"canary {info.canary}", soft_wrap=True)
    screen.print(f"play it as: --tasks sealed:{out}", style="dim", soft_wrap=True)


@app.command("split")
def split(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A task source.")],
    out: Annotated[Path, typer.Option("--out", help="The packs are OUT-train and OUT-held-out.")],
    held_out: Annotated[float, typer.Option(help="Share of functions that are held out.")] = 0.3,
    operators: Annotated[
        str, typer.Option(help="Only tasks made by these: names separated by commas, or all.")
    ] = "all",
    seed: Annotated[int, typer.Option(min=0, help="Draws the functions.")] = 0,
    json: Json = False,
) -> None:
    """Make two packs of a source's tasks: to train on, and to measure with.

    Whole functions are held out, so that no fault of a function that was trained on is measured
    with. A function's side follows from the seed and its name: it is the same in every pack.
    """
    from codegym.tasks import resolve
    from codegym.tasks.holding_out import made_by
    from codegym.tasks.holding_out import split as divide
    from codegym.tasks.packing import pack_of

    if not 0.0 < held_out < 1.0:
        raise UsageError(f"--held-out: expected more than 0 and less than 1, got {held_out}")
    tasks = list(resolve(source))
    if operators != "all":
        tasks = made_by(tasks, operators.split(","))
    found = divide(tasks, held_out, seed)
    sides = {"train": found.train, "held-out": found.held_out}
    made = {
        side: pack_of(rows, out.with_name(f"{out.name}-{side}")) for side, rows in sides.items()
    }
    if json:
        print_json(
            {side: {"folder": folder, "tasks": len(sides[side])} for side, folder in made.items()}
        )
        return
    for side, folder in made.items():
        console().print(safe(f"{counted(len(sides[side]), 'task')} in {folder}"), soft_wrap=True)


@app.command("info")
def show(file: SealedPath, json: Json = False) -> None:
    """Show what a sealed pack says without its key."""
    from codegym.tasks.sealed import read_sealed

    info = read_sealed(file)
    if json:
        print_json(plain(info))
        return
    console().print(
        safe(
            f"{info.name}, version {info.version}: {counted(info.tasks, 'task')}, "
            f"key {info.key_id}, canary {info.canary}"
        ),
        soft_wrap=True,
    )
