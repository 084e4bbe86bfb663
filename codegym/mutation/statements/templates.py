"""Statements from templates: the same facts told in three levels of detail."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from codegym.mutation.statements import phrases
from codegym.mutation.statements.facts import Symptom
from codegym.mutation.statements.leaks import Secrets
from codegym.types import Task

Detail = Literal["low", "medium", "high"]
DETAILS: Final[tuple[Detail, ...]] = ("low", "medium", "high")

_MAX_CODE_CHARS: Final = 160
#: Said by a test tool, and says nothing.
_EMPTY: Final = re.compile(
    r"(AssertionError:? ?)?"
    r"(assert (not )?((True|False|None)( is .*)?|(?P<same>.+) == (?P=same)))?"
)


def statements(
    task: Task, symptoms: Sequence[Symptom], secrets: Secrets, seed: int
) -> Mapping[Detail, str]:
    """A task's statement in each level of detail; none gives away what is secret.

    Args:
        task: Its kind, tests and name are used.
        symptoms: What its failing tests see, the plainest first.
        secrets: What must not be said.
        seed: Chooses between ways to say the same.
    """
    if task.kind == "ImplementFeature":
        low = _feature(task)
        code = symptoms[0].code if symptoms else ""
        medium = f"{low} {phrases.WANTED}"
        high = _joined([medium, _block(phrases.EXAMPLE, code)])
        return {"low": low, "medium": medium, "high": _sound([high, medium], secrets)}
    first = symptoms[0] if symptoms else Symptom()
    opening, plain = (_opening(one, task, seed) for one in (first, Symptom(first.nature)))
    head = _sound([opening, plain], secrets)
    examples = list(dict.fromkeys(_example(one, secrets) for one in symptoms))
    medium = _joined([head, examples[0] if examples else ""])
    code = _block(phrases.REPRODUCE, first.code)
    told = [code, _happens(first, secrets), *examples[1:], _count(task)]
    kept = [part for part in told if part and not secrets.leaks(part)]
    return {
        "low": head,
        "medium": _sound([medium, head], secrets),
        "high": _sound([_joined([head, *kept]), medium, head], secrets),
    }


def _feature(task: Task) -> str:
    named = [
        (span["path"], span["function"])
        for span in task.provenance.get("spans", ())
        if span.get("put") != 0
    ]
    listed = " and ".join(f"`{name}` in `{path}`" for path, name in dict.fromkeys(named))
    return phrases.MISSING.format(listed=listed, are="is" if len(named) == 1 else "are")


def _opening(symptom: Symptom, task: Task, seed: int) -> str:
    ways = phrases.OPENINGS[symptom.nature]
    if not symptom.subject:
        return ways[0].format(phrases.SOMETHING)
    digest = hashlib.sha256(f"{seed}\0{task.instance_id}".encode()).digest()
    return ways[digest[0] % len(ways)].format(f"`{symptom.subject}`")


def _example(symptom: Symptom, secrets: Secrets) -> str:
    """One example in a sentence, or ``""`` where nothing true can be said that helps."""
    ways = _of_error(symptom, secrets) if symptom.nature == "error" else _of_value(symptom, secrets)
    return next((way for way in ways if not secrets.leaks(way)), "")


def _of_value(symptom: Symptom, secrets: Secrets) -> Iterator[str]:
    call, held = (
        one if len(one) <= _MAX_CODE_CHARS else "" for one in (symptom.call, symptom.held)
    )
    values = {"got": symptom.got, "expected": symptom.expected}
    if symptom.got and call:
        yield (phrases.GIVES if "(" in call else phrases.IS_NOT).format(call=call, **values)
    if symptom.got and held and not call:
        yield phrases.FAILS_FOR.format(held=held, **values)
    if held:
        yield phrases.FAILS.format(held=held)
    if symptom.got:
        yield phrases.DIFFER.format(**values)
    said = secrets.without(symptom.said[0]) if symptom.said else ""
    if re.search(r"\w", said) and not _EMPTY.fullmatch(said):
        yield phrases.SEE.format(said=said)


def _of_error(symptom: Symptom, secrets: Secrets) -> Iterator[str]:
    said = secrets.without(symptom.said[0])
    if symptom.error not in said:
        return
    call = symptom.call if len(symptom.call) <= _MAX_CODE_CHARS else ""
    if not re.search(r"\w", said.partition(symptom.error)[2]):
        said = symptom.error
    if call:
        yield phrases.ENDS.format(call=call, said=said)
        yield phrases.ENDS.format(call=call, said=symptom.error)
    yield phrases.IS.format(said=said)
    yield phrases.OF.format(error=symptom.error)


def _happens(symptom: Symptom, secrets: Secrets) -> str:
    lines = [secrets.without(line) for line in symptom.said]
    return _block(phrases.HAPPENS, "\n".join(line for line in lines if not secrets.leaks(line)))


def _block(heading: str, text: str) -> str:
    return f"{heading}\n\n{textwrap.indent(text, '    ')}" if text else ""


def _count(task: Task) -> str:
    count = len(task.fail_to_pass)
    return phrases.COUNT.format(count=count) if count > 1 else ""


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _sound(ways: Sequence[str], secrets: Secrets) -> str:
    """The first way to say it that gives nothing away."""
    for way in ways:
        if not secrets.leaks(way):
            return way
    return phrases.ANY
