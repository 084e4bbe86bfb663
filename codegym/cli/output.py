"""What commands print: results on stdout, progress on stderr, untrusted text made harmless."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from codegym.envs.text import harmless as safe

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["activity", "console", "counted", "plain", "print_json", "safe"]


def console(*, stderr: bool = False) -> Console:
    """A console that takes text as it stands: no markup in file names and messages."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


@contextmanager
def activity() -> Iterator[Callable[[str], None]]:
    """Say on stderr what is being done: a spinner on a terminal, lines elsewhere."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda text: screen.print(text, soft_wrap=True)
        return
    with screen.status("starting") as status:
        yield status.update


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=2)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, floats with 6 digits, bytes left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def counted(count: int, noun: str) -> str:
    """A number and what it counts."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
