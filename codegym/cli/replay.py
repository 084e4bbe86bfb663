"""``codegym replay``: watch a recorded trajectory in the terminal."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codegym.cli.options import EpisodeNumber, RunPath
from codegym.cli.output import console, safe

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.types import EpisodeResult, Turn

_MAX_PAUSE_SEC = 3.0
_MAX_LINES = 40


def replay(
    run: RunPath,
    episode: EpisodeNumber = 0,
    speed: Annotated[
        float, typer.Option(min=0, help="1 is as it happened, 0 without pauses.")
    ] = 0.0,
) -> None:
    """Watch a recorded episode, turn by turn."""
    from codegym.runs import open_run

    recorded = open_run(run)
    result = recorded.episode(episode)
    out = console()
    _head(out, result, recorded.pins.policy)
    for number, turn in enumerate(result.trajectory.turns, 1):
        if speed:
            time.sleep(min(turn.seconds / speed, _MAX_PAUSE_SEC))
        _turn(out, number, turn)
    _tail(out, result)


def _head(out: Console, result: EpisodeResult, policy: str) -> None:
    trajectory = result.trajectory
    out.rule(f"episode {result.index}: {safe(result.task.instance_id)}", align="left")
    version = safe(trajectory.policy)
    out.print(f"policy {safe(policy)} ({version}), seed {trajectory.seed}", style="dim")
    out.print(safe(trajectory.first.instruction.rstrip()))


def _turn(out: Console, number: int, turn: Turn) -> None:
    seen = turn.observation
    out.print()
    if turn.action.thought.strip():
        out.print(safe(shorten(turn.action.thought.strip())), style="italic")
    out.print(f"{number}. {safe(describe(turn.action.text))}", style="bold cyan")
    if seen.output.strip():
        out.print(safe(shorten(seen.output.rstrip())))
    notes = [f"{turn.seconds * 1000:.1f} ms"]
    if seen.last_exit_code >= 0:
        notes.append(f"exit {seen.last_exit_code}")
    if turn.reward:
        notes.append(f"reward {turn.reward:+.3g}")
    if turn.action.note:
        notes.append(safe(turn.action.note))
    out.print(", ".join(notes), style="dim")


def _tail(out: Console, result: EpisodeResult) -> None:
    out.print()
    if result.fault:
        out.print(f"fault of the {result.fault}: {safe(result.error)}", style="bold red")
    if result.grade is None:
        return
    style = "bold green" if result.grade.solved else "bold yellow"
    out.rule(f"score {result.grade.score:g}, reward {result.reward:g}", align="left", style=style)
    out.print(safe(result.grade.text.rstrip()))
    if result.diff:
        out.print()
        out.print(safe(shorten(result.diff.rstrip(), 200)))


def describe(text: str) -> str:
    """An action for a person: ``bash pytest -q``; what is no tool call, as it stands."""
    try:
        action: Any = json.loads(text)
        arguments: dict[str, Any] = action["arguments"]
        shown = " ".join(_short(value) for value in arguments.values())
        return f"{action['name']} {shown}".rstrip()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _short(text)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return shorten(text.strip(), 12)


def shorten(text: str, lines: int = _MAX_LINES) -> str:
    """The first and last lines of a long text."""
    parts = text.split("\n")
    if len(parts) <= lines:
        return text
    half = lines // 2
    middle = f"[… {len(parts) - 2 * half} lines …]"
    return "\n".join([*parts[:half], middle, *parts[-half:]])
