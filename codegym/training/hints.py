"""Hints: what a turn that went wrong should have known, in a sentence, and never the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegym.errors import PolicyError
from codegym.types import (
    EpisodeResult,
    History,
    Observation,
    Policy,
    Tampering,
    Task,
    Turn,
)

#: Longest hint, in characters.
MAX_CHARS = 600
#: A hint that shares so many consecutive words with what the gold patch adds is dropped.
_SHARED_WORDS = 4
#: And so is one that has a whole line of it, of at least so many characters without spaces.
_LINE_CHARS = 8
_WORD = re.compile(r"\w+|[^\w\s]")
_CHANGING = ("edit", "write")


@dataclass(frozen=True, slots=True)
class Hint:
    """What is said right before a turn, as if the policy had been told in time.

    Attributes:
        turn: The turn's number in its episode, from 0.
        text: One to three sentences.
        source: ``"rule:NAME"``, ``"grade"`` or ``"judge"``.
    """

    turn: int
    text: str
    source: str


def hints_of(result: EpisodeResult) -> list[Hint]:
    """The hints of an episode by rules and by its grade, at most one a turn, rules first.

    Those that carry the answer are left out.
    """
    found: dict[int, Hint] = {}
    for hint in (*_by_rules(result), *_by_grade(result)):
        if hint.turn not in found and not carries_answer(hint.text, result.task):
            found[hint.turn] = hint
    return [found[turn] for turn in sorted(found)]


def carries_answer(text: str, task: Task) -> bool:
    """Whether a text shares with the gold patch more than chance would.

    It does where it holds four consecutive words that the patch adds or takes away (a word is a
    name, a number or a sign), or a whole changed line. Names alone may be told: a traceback's
    function, a path.
    """
    said = _WORD.findall(text)
    grams = set(_grams(said))
    squeezed = "".join(text.split())
    for line in _changed(task.patch):
        if not grams.isdisjoint(_grams(_WORD.findall(line))):
            return True
        whole = "".join(line.split())
        if len(whole) >= _LINE_CHARS and whole in squeezed:
            return True
    return False


def _grams(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - _SHARED_WORDS + 1):
        yield tuple(words[start : start + _SHARED_WORDS])


def _changed(patch: str) -> Iterator[str]:
    inside = False  # a hunk, where `--- ` begins a line that is taken away
    for line in patch.splitlines():
        inside = line.startswith("@@") or (inside and not line.startswith("diff --git "))
        if inside and line[:1] in {"+", "-"}:
            yield line[1:]


# Rules


@dataclass(frozen=True, slots=True)
class _Call:
    """A turn's call, as far as it is one."""

    name: str
    arguments: Mapping[str, Any]

    @classmethod
    def read(cls, text: str) -> _Call:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return cls("", {})
        if not isinstance(value, dict):
            return cls("", {})
        arguments = value.get("arguments", {})
        return cls(str(value.get("name", "")), arguments if isinstance(arguments, dict) else {})


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a rule looks at: a turn, its call, what it answered, and the turns before."""

    turn: Turn
    before: Sequence[Turn]
    tampering: Sequence[Tampering]

    @property
    def tool(self) -> str:
        return _Call.read(self.turn.action.text).name

    @property
    def output(self) -> str:
        return self.turn.observation.output


def _by_rules(result: EpisodeResult) -> Iterator[Hint]:
    turns = result.trajectory.turns
    tampering = result.grade.tampering if result.grade else ()
    for number, turn in enumerate(turns):
        seen = _Seen(turn, turns[:number], tampering)
        for name, rule in _RULES.items():
            text = rule(seen)
            if text:
                yield Hint(number, text[:MAX_CHARS], f"rule:{name}")
                break


def _unknown_tool(seen: _Seen) -> str:
    if not seen.output.startswith("malformed action: no tool named"):
        return ""
    return f"Reminder: the tools are {seen.output.rpartition('tools: ')[2]}; there are no others."


def _malformed(seen: _Seen) -> str:
    if not seen.output.startswith("malformed action: "):
        return ""
    return (
        "Reminder: reply with exactly one tool call, a JSON object with a name and arguments that "
        f"fit the tool. This would be wrong: {seen.output.removeprefix('malformed action: ')}"
    )


def _tampering(seen: _Seen) -> str:
    named = [one.path for one in seen.tampering if one.path]
    writes = seen.tool in {*_CHANGING, "bash"}
    if not writes or not any(path in seen.turn.action.text for path in named):
        return ""
    return (
        "Reminder: tests and their set-up are not yours to change; such work scores 0. Repair the "
        "source code instead."
    )


def _edit_failed(seen: _Seen) -> str:
    if seen.tool != "edit" or not seen.output.startswith("edit failed: "):
        return ""
    return (
        "Reminder: `old` must be text of the file exactly as it stands, occurring once. View the "
        "lines first, and copy them without their numbers."
    )


def _repeated(seen: _Seen) -> str:
    alike = [turn for turn in seen.before if turn.action.text == seen.turn.action.text]
    if not alike or alike[-1].observation.output != seen.output:
        return ""
    return "Reminder: you did exactly this before, and it says the same again. Do something else."


def _untested(seen: _Seen) -> str:
    if seen.tool != "submit":
        return ""
    tools = [_Call.read(turn.action.text).name for turn in seen.before]
    changed = max((n for n, name in enumerate(tools) if name in _CHANGING), default=-1)
    if "run_tests" in tools[changed + 1 :]:
        return ""
    if changed < 0:
        return "Reminder: nothing was changed yet. Run the tests and repair the fault first."
    return "Reminder: run the tests on your last change before you submit."


#: In the order in which they are asked; a turn has the first that applies.
_RULES: Mapping[str, Callable[[_Seen], str]] = {
    "unknown_tool": _unknown_tool,
    "malformed": _malformed,
    "tampering": _tampering,
    "edit_failed": _edit_failed,
    "repeated": _repeated,
    "untested": _untested,
}


def _by_grade(result: EpisodeResult) -> Iterator[Hint]:
    """What the grader said, before the last change: the one that did not solve it."""
    grade, turns = result.grade, result.trajectory.turns
    if grade is None or grade.solved or not grade.text:
        return
    for number in range(len(turns) - 1, -1, -1):
        called = _Call.read(turns[number].action.text)
        if called.name in _CHANGING and not turns[number].observation.output.startswith(
            f"{called.name} failed: "
        ):
            yield Hint(number, f"A change like this was graded: {grade.text}"[:MAX_CHARS], "grade")
            return


# A judge

_ASKED = """\
Below is an episode of another engineer, turn by turn, and its grade. Name the one turn that went \
most wrong, and write what that engineer should have been told right before it: one to three \
sentences about how to work, never the solution itself.
{given}"""
_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "hint",
        "description": "Say what should have been said, and before which turn.",
        "parameters": {
            "type": "object",
            "properties": {
                "turn": {"type": "integer", "minimum": 1, "description": "The turn's number."},
                "text": {"type": "string", "description": "One to three sentences."},
            },
            "required": ["turn", "text"],
        },
    },
}
_TURN_CHARS = 1500


async def judged(judge: Policy, result: EpisodeResult) -> Hint | None:
    """Ask a judge (any policy that takes tools: ``chat:MODEL``) for a hint.

    Returns:
        None where it cannot be reached, says nothing usable, or gives the answer away.
    """
    turns, grade = result.trajectory.turns, result.grade
    told = [
        f"--- turn {number}\n{turn.action.text[:_TURN_CHARS]}\n"
        f"{turn.observation.output[:_TURN_CHARS]}"
        for number, turn in enumerate(turns, 1)
    ]
    given = "\n".join([result.trajectory.first.instruction, *told, grade.text if grade else ""])
    first = Observation(_ASKED.format(given=given), "", 1)
    try:
        action = await judge.act(History(result.task.instance_id, (_TOOL,), first))
    except PolicyError:
        return None
    called = _Call.read(action.text)
    turn, text = called.arguments.get("turn"), called.arguments.get("text")
    if called.name != "hint" or type(turn) is not int or not isinstance(text, str):
        return None
    fits = 1 <= turn <= len(turns) and 10 < len(text) <= MAX_CHARS
    if not fits or carries_answer(text, result.task):
        return None
    return Hint(turn - 1, text, "judge")
