"""Options that the commands share, and what is looked at before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codegym.errors import UnavailableError, UsageError

SpecName = Annotated[
    str, typer.Argument(metavar="SPEC", help="PATH.toml, or the name of a bundled curriculum.")
]


def require_plot(plot: Path | None, suffix: str) -> None:
    """Raise where a plot could not be written; told now, not after the work."""
    if plot is None:
        return
    if plot.suffix.lower() != suffix:
        raise UsageError(f"--plot {plot}: only {suffix} is written; name it NAME{suffix}")
    if not plot.parent.is_dir():
        raise UsageError(f"--plot {plot}: {plot.parent} is no folder; make it first")
    there = plot.exists()
    try:
        plot.open("a").close()
        if not there:
            plot.unlink()
    except OSError as error:
        raise UnavailableError(
            f"--plot {plot}: {error.strerror}", "Choose a file that can be written to."
        ) from error
