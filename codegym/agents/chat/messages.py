"""From a history to the messages that a model is sent. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from codegym.agents.chat.prompt import CUT_REMINDER, REMINDER, system_prompt
from codegym.envs.text import cut_middle
from codegym.types import History, Turn

Message = dict[str, Any]

#: Turns that are kept whole as long as anything else can be left out.
KEPT_TURNS = 2
#: Turns are left out by so many at once: the beginning of a prompt then stays the same for a while,
#: and an endpoint that remembers it need not read it again.
_STEP = 4
_SHORT_CHARS = 200
#: What becomes of the last turns where nothing else is left to take away.
_LAST_CHARS = 1500
NO_CALL, CUT = "no call", "cut off"


def build(history: History, *, text_form: bool, elided: int = 0) -> list[Message]:
    """The messages.

    Args:
        history: All that happened.
        text_form: Whether calls are written in text.
        elided: How far to go in leaving out (see ``levels``): so many of the oldest turns are shown
            without what they printed and with shortened arguments. Beyond all but the last
            ``KEPT_TURNS``, those are cut in the middle, too.

    Returns:
        A system message, the instruction, then two messages for each turn.
    """
    messages: list[Message] = [
        {"role": "system", "content": system_prompt(history.tools, text_form=text_form)},
        {"role": "user", "content": history.first.instruction},
    ]
    old = max(0, len(history.turns) - KEPT_TURNS)
    for number, turn in enumerate(history.turns):
        output = turn.observation.output
        if number < min(elided, old):
            output = left_out(output)
        elif elided > old:
            output = cut_middle(output, _LAST_CHARS)
        short = number < elided or elided > old
        messages += _turn(number, turn, output, text_form=text_form, short=short)
    return messages


def levels(history: History) -> list[int]:
    """The values of ``elided`` that are worth trying, in order; the first is 0."""
    old = max(0, len(history.turns) - KEPT_TURNS)
    return [0, *range(_STEP, old, _STEP), *([old] if old else []), old + 1]


def note_of(elided: int, history: History) -> str:
    """What is recorded of it."""
    old = max(0, len(history.turns) - KEPT_TURNS)
    if not elided:
        return ""
    count = min(elided, old)
    said = [f"output of the {count} oldest turns left out"] if count else []
    said += ["the last outputs cut"] if elided > old else []
    return f"context full: {'; '.join(said)}"


def characters(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Characters of messages and tools, as they are sent."""
    return len(json.dumps([*messages, *tools], ensure_ascii=False))


def _turn(
    number: int, turn: Turn, output: str, *, text_form: bool, short: bool
) -> tuple[Message, Message]:
    action = turn.action
    called = parse_call(action.text)
    if called is None:
        said = cut_middle(action.text, _SHORT_CHARS) if short else action.text
        return (
            {"role": "assistant", "content": said or "(nothing)"},
            {"role": "user", "content": answer(turn, output)},
        )
    name, arguments = called
    if short:
        arguments = {key: _shortened(value) for key, value in arguments.items()}
    thought = cut_middle(action.thought, _SHORT_CHARS) if short else action.thought
    told = answer(turn, output)
    if text_form:
        said = in_text(name, arguments, thought)
        return {"role": "assistant", "content": said}, {"role": "user", "content": told}
    # Some endpoints want ids of nine letters and digits.
    made = {
        "id": f"call{number:05}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }
    return (
        {"role": "assistant", "content": thought or None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": made["id"], "content": told},
    )


def parse_call(text: str) -> tuple[str, dict[str, Any]] | None:
    """An action's name and arguments, where it is a call at all."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", {})
    return (value["name"], arguments) if isinstance(arguments, dict) else None


def in_text(name: str, arguments: Mapping[str, Any], thought: str) -> str:
    """A reply that holds a call in its text."""
    block = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"{thought}\n```json\n{block}\n```".lstrip()


def answer(turn: Turn, output: str) -> str:
    """What a model is told came of its turn.

    Args:
        turn: The turn; a note of its action that there was no call adds a reminder.
        output: What was printed, or what is shown of it.
    """
    seen, note = turn.observation, turn.action.note
    if parse_call(turn.action.text) is None and NO_CALL in note:
        output = f"{output}\n{CUT_REMINDER if CUT in note else REMINDER}"
    exit_code = f"exit status {seen.last_exit_code}, " if seen.last_exit_code >= 0 else ""
    return f"{output}\n[{exit_code}{seen.steps_left} steps left]"


def left_out(output: str) -> str:
    """What stands in for an output that is left out; a short one stays."""
    if len(output) <= _SHORT_CHARS:
        return output
    return f"[{len(output)} characters of output left out here: the context is full]"


def _shortened(value: Any) -> Any:
    return cut_middle(value, _SHORT_CHARS) if isinstance(value, str) else value
