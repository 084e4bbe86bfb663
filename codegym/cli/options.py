"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

#: The bundled environment that `demo` and `bench` use.
BUNDLED = "kvlog"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Sandbox = Annotated[
    str,
    typer.Option(
        "--sandbox",
        help="Backend: auto, bubblewrap, docker, remote:URL, a plug-in, or module:attr; with "
        "+dockerfile at its end, sandboxes start from what environments' Dockerfiles make.",
    ),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
EpisodeNumber = Annotated[
    int, typer.Option("--episode", "-e", min=0, help="The episode's number, from 0.")
]
TaskSourceName = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="SOURCE",
        help=(
            "An environment or pack by name, a task by its id, a pack by its path, PATH.jsonl; to "
            "play, also curriculum:SPEC. Default: all bundled tasks in Python."
        ),
        show_default=False,
    ),
]
