"""An episode as text for a person."""

from __future__ import annotations

import json

from codegym.envs.text import cut_middle, harmless
from codegym.types import Observation, StepResult, Trajectory, Turn

_MAX_OUTPUT_CHARS = 4000


def transcript(trajectory: Trajectory) -> str:
    """All of an episode so far, as plain text."""
    parts = [start(trajectory.task_id, trajectory.first)]
    parts += [turn_text(number, turn) for number, turn in enumerate(trajectory.turns, 1)]
    if trajectory.terminated or trajectory.truncated:
        how = "terminated" if trajectory.terminated else "truncated"
        parts.append(f"[{how}, return {sum(turn.reward for turn in trajectory.turns):g}]\n")
    return "\n".join(parts)


def start(task_id: str, first: Observation) -> str:
    """The task and what was asked."""
    return f"=== {task_id} ===\n{first.instruction.rstrip()}\n"


def turn_text(number: int, turn: Turn) -> str:
    """One action and its answer."""
    seen = turn.observation
    notes = [f"{turn.seconds * 1000:.0f} ms"]
    if seen.last_exit_code >= 0:
        notes.append(f"exit {seen.last_exit_code}")
    if turn.reward:
        notes.append(f"reward {turn.reward:g}")
    output = cut_middle(seen.output.rstrip(), _MAX_OUTPUT_CHARS)
    return f"--- {number}: {action_text(turn.action.text)}  [{', '.join(notes)}]\n{output}\n"


def action_text(text: str) -> str:
    """An action as a line or a block: ``bash: pytest -q``, or as it came where it is malformed."""
    try:
        value = json.loads(text)
        name, arguments = str(value["name"]), dict(value.get("arguments", {}))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return cut_middle(str(text), 300)
    if len(arguments) == 1:
        (argument,) = arguments.values()
        shown = argument if isinstance(argument, str) else json.dumps(argument)
    else:
        shown = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    return f"{name}: {cut_middle(shown, 1000)}" if shown else name


def ending(result: StepResult) -> str:
    """The verdict, where there is one."""
    if not result.ended:
        return ""
    grade = result.info.grade
    if grade is None:
        return f"[no grade: the {result.info.fault} failed]\n"
    return f"[score {grade.score:g}] {grade.text}\n"


def show(text: str) -> None:
    """Print to the terminal, which the text cannot steer."""
    from rich.console import Console

    Console().print(harmless(text), markup=False, highlight=False)
