"""``--set PART.KEY=VALUE``: what few need, each checked against the dataclass that it is of."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, TypeVar

import typer

from codegym import plugins
from codegym.errors import NotFoundError, UsageError

T = TypeVar("T")

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PART.KEY=VALUE",
        help="A setting of the step, the objective, the feedback or the episode; may be repeated. "
        "The guide to training lists them.",
    ),
]


class Settings:
    """What was set, by part.

    Args:
        given: As typed.
        parts: The parts that there are.

    Raises:
        UsageError: One is no ``PART.KEY=VALUE``.
        NotFoundError: There is no such part.
    """

    def __init__(self, given: Collection[str] | None, parts: Collection[str]) -> None:
        self._values: dict[str, dict[str, str]] = {part: {} for part in parts}
        for item in given or ():
            name, separator, value = item.partition("=")
            part, dot, key = name.partition(".")
            if not separator or not dot:
                raise UsageError(f"--set: expected PART.KEY=VALUE, got {item!r}")
            if part not in self._values:
                raise NotFoundError(
                    "part of a training", part, parts, f"there are: {', '.join(parts)}"
                )
            self._values[part][key] = value

    def make(self, part: str, kind: type[T], /, **base: Any) -> T:
        """A part: its defaults, then ``base``, then what was set.

        Raises:
            NotFoundError: It has no such setting.
            UsageError: A value does not fit.
        """
        return plugins.configure(kind, {key: str(base[key]) for key in base} | self._values[part])
