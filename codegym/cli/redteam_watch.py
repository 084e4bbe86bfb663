"""The live table of ``codegym redteam``, on stderr."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Self

from codegym.cli.output import console, safe
from codegym.redteam import Control, Result
from codegym.redteam.attack import FAMILIES, OUTCOMES

if TYPE_CHECKING:
    from rich.console import Group

_NEWEST = 6


class Watch:
    """Counts by class and outcome, and the newest results; lines where there is no terminal."""

    def __init__(self, planned: int) -> None:
        from rich.live import Live

        self._planned, self._done = planned, 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._honest: Counter[bool] = Counter()
        self._newest: deque[tuple[str, str, str]] = deque(maxlen=_NEWEST)
        self._note = "preparing"
        self._console = console(stderr=True)
        self._live = Live(
            console=self._console, get_renderable=self._table, transient=True, refresh_per_second=4
        )

    def note(self, text: str) -> None:
        """Say what is being prepared."""
        self._note = safe(text)
        self._line(self._note)

    def told(self, result: Result | Control) -> None:
        """Take a result in."""
        if isinstance(result, Control):
            self._honest[result.score == 1] += 1
            return
        self._done += 1
        outcome = result.finding.outcome if result.finding else "not played"
        self._counts[result.attack.family, outcome] += 1
        said = " ".join(safe(result.finding.evidence if result.finding else result.problem).split())
        self._newest.append((result.attack.name, outcome, said))
        self._note = f"{self._done} of {self._planned}"
        self._line(f"{self._note}  {result.attack.name}: {outcome}")

    def _line(self, text: str) -> None:
        if not self._console.is_terminal:
            self._console.print(text, soft_wrap=True)

    def _table(self) -> Group:
        from rich.console import Group
        from rich.table import Table

        names = (*OUTCOMES, "not played")
        counts = Table("class", *names, box=None, pad_edge=False, title_justify="left")
        for family in FAMILIES:
            counts.add_row(family, *(str(self._counts[family, name] or "") for name in names))
        honest = f"{self._honest[True]} at 1, {self._honest[False]} below"
        newest = Table(box=None, pad_edge=False, show_header=False)
        for name, outcome, said in self._newest:
            newest.add_row(name, outcome, said[:70], style="red" if outcome == "succeeded" else "")
        return Group(self._note, counts, f"honest solutions: {honest}", newest)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
