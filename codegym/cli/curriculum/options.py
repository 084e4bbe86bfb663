"""Options that the commands share."""

from __future__ import annotations

from typing import Annotated

import typer

SpecName = Annotated[
    str, typer.Argument(metavar="SPEC", help="PATH.toml, or the name of a bundled curriculum.")
]
