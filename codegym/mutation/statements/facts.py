"""What is seen of a fault from outside: what was done, what came of it, what should have."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass

from codegym.mutation.statements.asking import Nature, asked
from codegym.mutation.trial import Trial, raised
from codegym.syntax import parse
from codegym.types import Tree

_MAX_SAID = 12
_MAX_VALUE_CHARS = 200
#: Addresses, and those of which the test tool has left out the end or the beginning.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|0x[0-9a-f]*\.\.\.")
_CUT_ADDRESS = re.compile(r"\.\.\.(?:0?x)?[0-9a-f]+(?=>)")
_CHAINED = re.compile(
    r"^(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):$",
    re.MULTILINE,
)
#: What test tools write of two values, first and second, in their order.
_PAIRS = (
    re.compile(r"(?:AssertionError: )?assert (?P<first>.+?) == (?P<second>.+)"),
    re.compile(r"(?P<first>.+?) !== (?P<second>.+)"),
    _NAMED := re.compile(r".*expected:? ?<(?P<second>.*)> but was:? ?<(?P<first>.*)>"),
)
_SIDES = re.compile(r"(left|right): (.*)")
_WHERE = re.compile(r"\+\s+where (?P<got>.+?) = (?P<name>\w+)(?P<given>\(.*\))")
_ERROR = re.compile(
    r"(?:\w+\.)*(?P<type>[A-Z]\w*(?:Error|Exception|Warning)|[A-Z]\w*Exit|StopIteration)\b"
)
_NONE_RAISED = re.compile(r".*(DID NOT RAISE|not raised|Missing expected exception)")
_FORMULAS = frozenset({
    "parenthesized_expression", "binary_operator", "boolean_operator", "not_operator",
    "comparison_operator",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symptom:
    """What one failing test sees.

    Attributes:
        nature: Two values that differ, an error, an error that does not come, or something else.
        code: The test's body up to where it fails, or ``""``.
        call: What was asked for there, or what ends in the error, or ``""``.
        held: What the test asserts there, or ``""``.
        subject: The name of what is called there, or ``""``.
        got: What came of it, or ``""``.
        expected: What should have, or ``""``.
        error: The class of the error, or ``""``.
        said: What was raised, line by line.
    """

    nature: Nature = "unknown"
    code: str = ""
    call: str = ""
    held: str = ""
    subject: str = ""
    got: str = ""
    expected: str = ""
    error: str = ""
    said: tuple[str, ...] = ()


def symptoms(tree: Tree, language: str, trial: Trial) -> tuple[Symptom, ...]:
    """What the examples of a trial saw, the plainest first."""
    seen = ((trial.example, trial.message), *trial.others)
    return tuple(_symptom(tree, language, test, message) for test, message in seen if test)


def said_of(message: str) -> tuple[str, ...]:
    """What was raised, without what differs each time and what is said of the test runner."""
    lines = (_CUT_ADDRESS.sub("...", _ADDRESS.sub("0x...", one)) for one in raised(message))
    return tuple(line for line in lines if line and not line.startswith("Use -v"))[:_MAX_SAID]


def _symptom(tree: Tree, language: str, test: str, message: str) -> Symptom:
    message = _CHAINED.split(message)[-1]  # what comes out of it in the end
    said = said_of(message)
    nature, error = _nature(said)
    seen = asked(tree, language, test, message, nature)
    told = nature == "value" and (seen.compares or language != "python")
    first, second = _values(said, language) if told else ("", "")
    swapped = seen.is_second and not any(_NAMED.fullmatch(line) for line in said)
    got, expected = (second, first) if swapped else (first, second)
    call = _with_values(seen.call, said, got) if seen.call and got else seen.call
    return Symptom(
        nature=nature,
        code=seen.code,
        call=seen.ended if nature == "error" else call,
        held=seen.held,
        subject=seen.subject,
        got=got,
        expected=expected,
        error=error,
        said=said,
    )


def _with_values(call: str, said: tuple[str, ...], got: str) -> str:
    """A call with the values that its names stand for, where they are told in full."""
    found = next((one for line in said if (one := _WHERE.fullmatch(line))), None)
    called = call.partition("(")[0]
    if found is None or found["got"] != got or called.rpartition(".")[2] != found["name"]:
        return call
    whole = found["given"].endswith(")") and not re.search(r"<|\.\.\.", found["given"])
    return f"{called}{found['given']}" if whole and not hasattr(builtins, called) else call


def _nature(said: tuple[str, ...]) -> tuple[Nature, str]:
    if not said:
        return "unknown", ""
    if any(_NONE_RAISED.match(line) for line in said[:2]):
        return "no_error", ""
    if _pair(said) or any(_SIDES.fullmatch(line) for line in said):
        return "value", ""
    error = _ERROR.match(said[0])
    if error is not None and error["type"] != "AssertionError":
        return "error", error["type"]
    return "unknown", ""


def _values(said: tuple[str, ...], language: str) -> tuple[str, str]:
    """What is compared, as it is written; empty where that is not to be told, or says nothing."""
    sides = {one[1]: one[2] for line in said if (one := _SIDES.fullmatch(line))}
    pair = (sides["left"], sides["right"]) if len(sides) == 2 else _pair(said)
    if pair is None or max(map(len, pair)) > _MAX_VALUE_CHARS or pair[0] == pair[1]:
        return "", ""
    return ("", "") if any(_is_formula(one, language) for one in pair) else pair


def _pair(said: tuple[str, ...]) -> tuple[str, str] | None:
    written = (one.fullmatch(line) for line in said for one in _PAIRS)
    found = next((one for one in written if one is not None), None)
    if found is None or found["second"].count(" == "):  # it could be parted in two ways
        return None
    return found["first"], found["second"]


def _is_formula(text: str, language: str) -> bool:
    """Whether a value is not told, but what it is worked out of: ``(3 + 4)``."""
    if language != "python":
        return False
    root = parse(text.encode(), language).root
    if root.has_error or root.named_child_count != 1:
        return False
    inside = root.named_children[0].named_children
    if len(inside) != 1 or inside[0].type == "unary_operator":
        return len(inside) == 1 and inside[0].named_children[-1].type not in ("integer", "float")
    return inside[0].type in _FORMULAS
