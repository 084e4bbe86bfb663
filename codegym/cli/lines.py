"""How far long work is, as lines in a log: where there is no terminal for a bar to move on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

_EVERY_SEC: Final = 30.0


class Lines:
    """Prints what it is told, but never two lines within half a minute, and none on a terminal.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def tell(self, text: str, done: float = 0, total: float | None = None) -> None:
        """Say what is being done, and how many of how many are."""
        now = time.monotonic()
        if self._console.is_terminal or now - self._last < _EVERY_SEC:
            return
        self._last = now
        told = text if total is None else f"{text} ({done:.0f} of {total:.0f})"
        self._console.print(told, soft_wrap=True)
