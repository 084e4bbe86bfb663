"""``codegym plot``: a training's curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codegym.cli.options import Json
from codegym.cli.output import console, print_json
from codegym.errors import UnavailableError


def plot(
    training: Annotated[Path, typer.Argument(metavar="DIR", help="A training's folder.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for the curves; its own by default.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Draw a training's curves: `curves.html`, which needs nothing else, and `curves.png`.

    It may be under way: nothing of it is changed.
    """
    from codegym.training.curves import draw_png, write_html
    from codegym.training.metrics import read_metrics

    lines = read_metrics(training)
    folder = out or training
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / "curves.html"]
    write_html(lines, training.name, made[0])
    missing = ""
    try:
        draw_png(lines, training.name, folder / "curves.png")
        made.append(folder / "curves.png")
    except UnavailableError as error:
        missing = str(error)
    if json:
        print_json({"steps": len(lines), "files": made, "missing": missing})
        return
    for file in made:
        console().print(str(file), soft_wrap=True)
    if missing:
        console(stderr=True).print(f"no PNG: {missing}", style="yellow", soft_wrap=True)
