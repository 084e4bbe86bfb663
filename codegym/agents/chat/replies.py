"""From a model's reply to an action. Whatever it is, nothing raises: a flaw is an action too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codegym.types import Usage

MAX_THOUGHT_CHARS = 20_000
_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)```", re.DOTALL)
_MAX_TOKENS = 10**9  # no reply costs more; who says so does not count
_MAX_BRACES = 200  # tried as the start of an object, so that a long reply costs little
#: What models with a template of their own put around their reasoning.
_REASONING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        action: The action's text: a JSON tool call, or what stands in its place.
        called: Whether it is a call, well-formed as far as can be told here.
        thought: What was said besides the call.
        note: What was left out of it, or ``""``.
        cut: Whether it ended for want of tokens.
        usage: What it cost; None where the endpoint does not say.
    """

    action: str
    called: bool
    thought: str = ""
    note: str = ""
    cut: bool = False
    usage: Usage | None = None


def read_reply(body: object) -> Reply | None:
    """Read the body of an answer; None where it is no chat completion at all."""
    try:
        choice = body["choices"][0]  # type: ignore[index]
        message = choice["message"]
        content, calls = message.get("content"), message.get("tool_calls")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    if not isinstance(choice, dict) or not isinstance(body, dict):
        return None
    old = message.get("function_call")  # how the protocol had it before
    if not calls and isinstance(old, dict):
        calls = [{"function": old}]
    text = _text(content)
    cut, usage = choice.get("finish_reason") == "length", _usage(body.get("usage"))
    if isinstance(calls, list) and calls:
        action, called = _native(calls[0])
        more = len(calls) - 1
        note = f"{more} more calls in the same reply were not made" if more else ""
        return Reply(action, called, text[:MAX_THOUGHT_CHARS], note, cut, usage)
    found = find_call(text)
    if found is None:
        return Reply(text, called=False, cut=cut, usage=usage)
    action, before = found
    return Reply(action, True, before[:MAX_THOUGHT_CHARS], cut=cut, usage=usage)


def spoken(text: str) -> str:
    """A text without the reasoning that some models write before it."""
    return _REASONING.sub("", text).strip()


def find_call(text: str) -> tuple[str, str] | None:
    """The first tool call in a text, fenced or bare, and what stands before it.

    The first: a model that goes on has made up the answer to it.
    """
    said = _REASONING.sub("", text)
    for match in _FENCE.finditer(said):
        found = _as_call(_load(match[1].strip()))
        if found is not None:
            return found, said[: match.start()].strip()
    for start, value in _objects(said):
        found = _as_call(value)
        if found is not None:
            return found, _without_fence(said[:start]).strip()
    return None


def _native(call: object) -> tuple[str, bool]:
    """A call in the protocol's own form; arguments that are no JSON stay as they came."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return json.dumps(call, ensure_ascii=False, default=str), False
    name, given = function.get("name"), function.get("arguments")
    arguments = given
    if isinstance(given, str):
        arguments = _load(given) if given.strip() else {}
    if given is None:
        arguments = {}
    if isinstance(name, str) and isinstance(arguments, dict):
        return _write(name, arguments), True
    shown = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {shown}}}', False


def _as_call(value: object) -> str | None:
    """A call written as an object; ``parameters`` and ``function`` are what some models say."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    said: dict[str, Any] = inner if isinstance(inner, dict) else value
    name = said.get("name", said.get("tool"))
    arguments = said.get("arguments", said.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _load(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return _write(name, arguments)


def _write(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _load(text: str) -> object:
    try:
        value: object = json.loads(text, strict=False)  # models put newlines into strings
    except (ValueError, RecursionError):
        return None
    return value


def _objects(text: str) -> Iterator[tuple[int, object]]:
    """JSON objects in a text, each with its place; those inside another are not looked for."""
    decoder = json.JSONDecoder(strict=False)
    start = text.find("{")
    for _ in range(_MAX_BRACES):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield start, value
        start = text.find("{", end)


def _without_fence(text: str) -> str:
    """A fence that was opened before a call and never closed is no thought."""
    return re.sub(r"```[ \t]*\w*\s*\Z", "", text)


def _text(content: object) -> str:
    """A message's content, which some endpoints give in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    counts = value.get("prompt_tokens"), value.get("completion_tokens")
    read = [count if type(count) is int and 0 <= count <= _MAX_TOKENS else 0 for count in counts]
    return Usage(*read) if any(read) else None
