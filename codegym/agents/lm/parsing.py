"""From what a model wrote to an action, in the forms that models are trained to write calls in.

Nothing raises: where a call was begun and is wrong, its inside is the action, which an episode
answers as malformed; where there is none, all of the text is.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegym.agents.chat.replies import MAX_THOUGHT_CHARS, find_call
from codegym.syntax.python import parse_expression
from codegym.types import call

Schemas = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read of a completion.

    Attributes:
        action: A JSON tool call, or what stands in its place.
        called: Whether it is a call, well-formed as far as can be told without its schema.
        thought: What was said besides it.
        note: What was left out, or ``""``.
    """

    action: str
    called: bool
    thought: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """A call that was begun at ``start``; ``action`` is None where it is wrong."""

    start: int
    inside: str
    action: str | None


_Form = Callable[[str, Schemas], Iterator[_Found]]


def parse(text: str, tools: Sequence[Mapping[str, Any]] = ()) -> Parsed:
    """Read a completion.

    Args:
        text: What was generated, special tokens that mark a call among it, the last stop not.
        tools: The tools in the form that chat models take; values written as text (in XML) are
            read as their schemas say.

    Returns:
        The first call that is well-formed; where there is none, the first that was begun; else the
        whole text.
    """
    thought, spoken = _reasoning(text)
    schemas = _schemas(tools)
    found = [each for form in _FORMS for each in form(spoken, schemas)]
    found.sort(key=lambda each: each.start)
    sound = [each for each in found if each.action is not None]
    for each in sound[:1]:
        note = f"{len(found) - 1} more calls in the same reply were not made" * (len(found) > 1)
        return Parsed(each.action or "", True, _joined(thought, spoken[: each.start]), note)
    if found:
        begun = found[0]
        return Parsed(begun.inside.strip(), False, _joined(thought, spoken[: begun.start]))
    plain = find_call(spoken)
    if plain is not None:
        return Parsed(plain[0], True, _joined(thought, plain[1]))
    return Parsed(spoken.strip(), False, thought[:MAX_THOUGHT_CHARS])


def _reasoning(text: str) -> tuple[str, str]:
    """What was thought, and the rest. A template may have opened the thought itself."""
    before, closed, after = text.partition("</think>")
    if closed:
        return before.replace("<think>", "").strip(), after
    before, opened, inside = text.partition("<think>")
    return (inside.strip(), before) if opened else ("", text)


def _joined(*parts: str) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())[:MAX_THOUGHT_CHARS]


def _schemas(tools: Sequence[Mapping[str, Any]]) -> Schemas:
    functions = [tool["function"] for tool in tools]
    return {one["name"]: one["parameters"].get("properties", {}) for one in functions}


# The forms

_HERMES = re.compile(r"<tool_call>(?P<inside>.*?)(?:</tool_call>|\Z)", re.DOTALL)
_XML = re.compile(
    r"<(?:function=|invoke name=\"?)(?P<name>[^>\"]*)\"?>(?P<inside>.*?)"
    r"(?:</(?:function|invoke)>|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=\"?)(?P<name>[^>\"]*)\"?>(?P<value>.*?)</parameter>", re.DOTALL
)
_LLAMA = re.compile(r"<\|python_tag\|>(?P<inside>.*?)(?:<\|e[a-z]+_id\|>|\Z)", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\](?P<inside>.*?)(?=\[TOOL_CALLS\]|</s>|\Z)", re.DOTALL)
_NAMED = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[CALL_ID\]\S*?)?(?:\[ARGS\])?\s*(?=\{)")


def _hermes(text: str, _: Schemas) -> Iterator[_Found]:
    """``<tool_call>{"name": …, "arguments": …}</tool_call>``."""
    for match in _HERMES.finditer(text):
        if _XML.search(match["inside"]) is None:
            yield _Found(match.start(), match["inside"], _from_object(match["inside"]))


def _xml(text: str, schemas: Schemas) -> Iterator[_Found]:
    """``<function=NAME><parameter=KEY>VALUE</parameter></function>``, or with ``<invoke name>``."""
    for match in _XML.finditer(text):
        inside, name = match["inside"], match["name"].strip()
        start = match.start()
        wrapped = re.search(r"<(?:tool_call|function_calls)>\s*\Z", text[:start])
        start = wrapped.start() if wrapped else start
        if inside.strip().startswith("{"):
            yield _Found(start, match[0], _from_object(inside, name))
            continue
        types = schemas.get(name, {})
        given = {
            each["name"].strip(): _typed(each["value"], types.get(each["name"].strip(), {}))
            for each in _PARAMETER.finditer(inside)
        }
        left = _PARAMETER.sub("", inside).strip()
        yield _Found(start, match[0], None if left or not name else call(name, **given))


def _llama(text: str, _: Schemas) -> Iterator[_Found]:
    """``<|python_tag|>`` and an object, or ``NAME.call(KEY=VALUE)``."""
    for match in _LLAMA.finditer(text):
        inside = match["inside"]
        yield _Found(match.start(), inside, _from_object(inside) or _from_python(inside))


def _mistral(text: str, _: Schemas) -> Iterator[_Found]:
    """``[TOOL_CALLS]`` and a list of objects, or ``NAME[ARGS]{…}``."""
    for match in _MISTRAL.finditer(text):
        inside, start = match["inside"], match.start()
        named = _NAMED.match(inside)
        if named is not None:
            yield _Found(start, inside, _from_object(inside[named.end() :], named["name"]))
            continue
        listed = _load(inside)
        for one in listed if isinstance(listed, list) and listed else [inside]:
            written = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)
            yield _Found(start, written, _from_object(written))


_FORMS: tuple[_Form, ...] = (_hermes, _xml, _llama, _mistral)


# Their parts


def _from_object(text: str, name: str = "") -> str | None:
    """A call from an object: the whole call, or the arguments of ``name``."""
    value = _load(text)
    if isinstance(value, dict) and name:
        return _write(name, value)
    found = find_call(text) if isinstance(value, dict) else None
    return None if found is None else found[0]


def _from_python(text: str) -> str | None:
    """``bash.call(command="ls")``: a name and literal keywords."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call) or node.args:
            return None
        name = ast.unparse(node.func).removesuffix(".call")
        given = {key.arg: ast.literal_eval(key.value) for key in node.keywords if key.arg}
        return _write(name, given)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _write(name: str, arguments: Mapping[str, Any]) -> str | None:
    try:
        return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):  # a set, say, or what holds itself
        return None


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """A value written as text: a string as it stands, anything else as JSON."""
    value = re.sub(r"\A\r?\n|\r?\n\Z", "", text)
    if schema.get("type", "string") == "string":
        return value
    read = _load(value)
    return value if read is None and value.strip() != "null" else read


def _load(text: str) -> Any:
    try:
        return json.loads(text, strict=False)  # models put newlines into strings
    except (ValueError, RecursionError):
        return None
