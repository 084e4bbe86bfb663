"""From an action's text to a tool call. Whatever the text, nothing raises: a flaw is answered."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Longest action accepted, in characters.
MAX_ACTION_CHARS = 262_144

_GREATEST = 2**53
_FORM = '{"name": TOOL, "arguments": {…}}'


@dataclass(frozen=True, slots=True)
class Call:
    """A well-formed tool call."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Malformed:
    """An action that is none, with what the policy is told."""

    problem: str


def parse(text: object, schemas: Mapping[str, Mapping[str, Any]]) -> Call | Malformed:
    """Read one action.

    Args:
        text: What the policy sent; anything.
        schemas: Each tool's name to the JSON schema of its arguments.

    Returns:
        The call, its arguments valid for the tool's schema, or what was wrong.
    """
    try:
        return _call(_load(text), schemas)
    except _FlawError as flaw:
        return Malformed(f"malformed action: {flaw}")
    except RecursionError:
        return Malformed("malformed action: nested too deeply")


class _FlawError(Exception):
    """What was wrong; never leaves this module."""


def _load(text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        raise _FlawError(f"expected text, got {type(text).__name__}; write {_FORM}")
    if len(text) > MAX_ACTION_CHARS:
        raise _FlawError(f"{len(text)} characters, more than the {MAX_ACTION_CHARS} allowed")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _FlawError(f"not JSON ({error.msg} at {where}); write {_FORM}") from None
    except (ValueError, RecursionError) as error:  # a number of too many digits, or deep nesting
        raise _FlawError(f"not usable JSON ({str(error)[:200]}); write {_FORM}") from None
    if not isinstance(value, dict):
        raise _FlawError(f"expected a JSON object, got {_type_name(value)}; write {_FORM}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; JSON leaves open which of two values of one key counts."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _FlawError(f"the key {_short(key)} is there twice; write {_FORM}")
        found[key] = value
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _call(value: dict[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Call | Malformed:
    for key in value:
        if key not in ("name", "arguments"):
            raise _FlawError(f"unknown key {_short(key)}; write {_FORM}")
    if "name" not in value:
        raise _FlawError(f'the key "name" is missing; write {_FORM}')
    name, arguments = value["name"], value.get("arguments", {})
    if not isinstance(name, str) or name not in schemas:
        known = ", ".join(schemas)
        raise _FlawError(f"no tool named {_short(name)}{_near(name, schemas)}; tools: {known}")
    if not isinstance(arguments, dict):
        raise _FlawError(f'"arguments" must be an object, got {_type_name(arguments)}')
    _check(arguments, schemas[name], name)
    return Call(name, arguments)


def _check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    """Check a value against the part of JSON schema that tools use."""
    expected = schema.get("type")
    if expected is not None and not _is_type(value, expected):
        wanted = expected if isinstance(expected, str) else " or ".join(expected)
        raise _FlawError(f"{where}: expected {wanted}, got {_type_name(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise _FlawError(f"{where}: must be one of {json.dumps(schema['enum'])}")
    if isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check(item, schema.get("items", {}), f"{where}[{number}]")
    elif isinstance(value, str):
        _check_text(value, where)
    elif type(value) in (int, float):
        _check_number(value, schema, where)


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> None:
    properties: Mapping[str, Any] = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            raise _FlawError(f"{where}: the argument {key!r} is missing")
    # Stricter than the standard, where a schema that says nothing of other keys permits them.
    others = schema.get("additionalProperties", not properties and "type" not in schema)
    for key, item in value.items():
        _check_text(key, f"{where}: a key")
        if key not in properties and not others:
            known = ", ".join(properties) or "none"
            near = _near(key, properties)
            raise _FlawError(f"{where}: unknown argument {_short(key)}{near}; it takes: {known}")
        rule = properties.get(key, others if isinstance(others, Mapping) else {})
        _check(item, rule, f"{where}.{key[:80]}")


def _check_text(value: str, where: str) -> None:
    # Neither can be passed to a program or written as UTF-8.
    if "\0" in value:
        raise _FlawError(f"{where}: holds a NUL character")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise _FlawError(f"{where}: holds half of a surrogate pair")


def _check_number(value: float, schema: Mapping[str, Any], where: str) -> None:
    if not -_GREATEST <= value <= _GREATEST:  # infinite, or an integer that no float can hold
        raise _FlawError(f"{where}: too large")
    if "minimum" in schema and value < schema["minimum"]:
        raise _FlawError(f"{where}: must be at least {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise _FlawError(f"{where}: must be at most {schema['maximum']}")


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _is_type(value: Any, expected: str | Sequence[str]) -> bool:
    names = (expected,) if isinstance(expected, str) else expected
    for name in names:
        # JSON's true is no number, though Python's is.
        if (type(value) is bool) == (name == "boolean") and isinstance(value, _TYPES[name]):
            return True
    return False


def _type_name(value: Any) -> str:
    for name in ("boolean", "integer", "number", "string", "array", "object", "null"):
        if isinstance(value, _TYPES[name]):
            return name
    return type(value).__name__


def _near(name: object, known: Mapping[str, Any]) -> str:
    if not isinstance(name, str):
        return ""
    near = difflib.get_close_matches(name[:100], known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
