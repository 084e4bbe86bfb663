"""What ``codegym generate`` is asked for: operators and composites, failed patches, statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.errors import UsageError

if TYPE_CHECKING:
    from codegym.agents.chat import Chat
    from codegym.cli.steps import Steps
    from codegym.mutation import Attempt, Composite, Operator
    from codegym.mutation.statements import Reworded
    from codegym.tasks import Environment
    from codegym.types import Kind, Task

_MOST_ORDER = 4


class Detail(StrEnum):
    """What ``--detail`` takes."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


Order = Annotated[
    str,
    typer.Option(
        metavar="N[-M]",
        help="Faults in a task: 1, 2-3, 1-4. From 2 on, single edits are joined by composites.",
    ),
]
Failed = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        help="A run of tasks of this environment: new tasks start where its policy failed.",
        show_default=False,
    ),
]
HowMuch = Annotated[Detail, typer.Option(help="How much problem statements say.")]
Statements = Annotated[
    str,
    typer.Option(
        metavar="template|chat:MODEL", help="Who writes problem statements from what tests saw."
    ),
]


def choice(
    operators: str, order: str, language: str, kinds: Sequence[Kind]
) -> tuple[Sequence[Operator], Sequence[Composite], range]:
    """The operators, the composites and the orders that are wanted.

    Raises:
        UsageError: A name or an order is wrong, or they do not fit each other.
    """
    from codegym import mutation

    orders = _orders(order)
    names = [] if operators == "all" else [name.strip() for name in operators.split(",")]
    joined = [name for name in names if mutation.is_composite(name)]
    single = [name for name in names if name not in joined]
    if joined and orders.stop <= 2:
        raise UsageError(f"{joined[0]} joins several edits: give --order, for example 2-3")
    if joined and not single:
        orders = range(max(orders.start, 2), orders.stop)
    composites = mutation.load_composites(joined, kinds) if orders.stop > 2 else []
    return mutation.load_operators(single, language, kinds), composites, orders


def _orders(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        low, high = int(first), int(last or first)
    except ValueError:
        low = high = 0
    if not 1 <= low <= high <= _MOST_ORDER:
        raise UsageError(f"--order: {text!r} is not N or N-M, from 1 to {_MOST_ORDER}")
    return range(low, high + 1)


def attempts_of(run: Path | None, home: Environment, orders: range) -> list[Attempt]:
    """What a run's policy left where it did not solve tasks of an environment.

    Raises:
        NotFoundError: There is no run there.
        UsageError: It has no such episode, or no order takes one.
    """
    from codegym.mutation import Attempt
    from codegym.runs import open_run

    if run is None:
        return []
    if orders.stop <= 2:
        raise UsageError("--failed makes tasks of order 2 and more: give --order, for example 2-3")
    recorded = open_run(run)
    failed = [
        one.index
        for one in recorded.episodes()
        if one.grade is not None and not one.grade.solved and not one.fault and one.work.changes
    ]
    results = (recorded.episode(index) for index in failed)
    found = [
        Attempt(one.task, one.work.changes) for one in results if one.task.environment == home.name
    ]
    if not found:
        raise UsageError(
            f"{run} has no episode that changed files of {home.name} and did not solve its task"
        )
    return found


@dataclass(frozen=True, slots=True)
class Writing:
    """How statements are written.

    Attributes:
        statements: ``"template"`` or ``"chat:MODEL"``.
        base_url: Where the model is served.
        detail: How much they say.

    Raises:
        UsageError: They are neither, or the model has no address.
    """

    statements: str
    base_url: str | None
    detail: Detail

    def __post_init__(self) -> None:
        """Refuse what is wrong before anything is run."""
        if self.statements != "template":
            self._chat()
        elif self.base_url is not None:
            raise UsageError("--base-url is for --statements chat:MODEL")

    async def of(self, tasks: Sequence[Task], home: Environment, steps: Steps) -> Reworded:
        """Tasks with statements by whoever is to write them."""
        from codegym.mutation.statements import Reworded, reword
        from codegym.workspace.history import open_history

        if self.statements == "template":
            return Reworded(tuple(tasks), {})
        chat = self._chat()
        try:
            tree = open_history(home).tree_at(home.head)
            return await reword(tasks, tree, chat, self.detail.value, progress=steps)
        finally:
            await chat.aclose()

    def _chat(self) -> Chat:
        kind, _, model = self.statements.partition(":")
        if kind != "chat" or not model.strip():
            raise UsageError(
                f"--statements: {self.statements!r} is neither template nor chat:MODEL"
            )
        from codegym.agents.chat import Chat

        return Chat(model, base_url=self.base_url or "")
