"""Plug-ins: operators, runners, rewards, tools, policies and sandboxes that others write.

A plug-in is named in one of three ways: by a built-in name, by ``module:attr``, or by the name of
an entry point in the group ``codegym.GROUP`` of any installed distribution. Nothing is imported
unless it is named.
"""

from __future__ import annotations

import dataclasses
import importlib
import typing
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from codegym.errors import CodeGymError, NotFoundError, UsageError

T = TypeVar("T")

#: The groups there are, each with the word for one of its members.
GROUPS: Mapping[str, str] = {
    "operators": "operator",
    "runners": "runner",
    "rewards": "reward",
    "tools": "tool",
    "task_samplers": "task sampler",
    "policies": "policy",
    "sandboxes": "sandbox",
}


def load(group: str, name: str, builtin: Mapping[str, str]) -> object:
    """Import the plug-in that a name stands for.

    Args:
        group: One of ``GROUPS``.
        name: A built-in name, ``module:attr``, or an entry point's name.
        builtin: The built-in names, each with its ``module:attr``.

    Returns:
        The object, not called and not configured.

    Raises:
        NotFoundError: No such name, module or attribute.
        UsageError: Its module cannot be imported, or two distributions offer the name.
    """
    word = GROUPS[group]
    label = f"{word} {name!r}"
    if name in builtin:
        return _attribute(builtin[name], label)
    if ":" in name:
        return _attribute(name, label)
    offered = entry_points(group=f"codegym.{group}")  # reads metadata, imports nothing
    found = {f"{point.module}:{point.attr}": point for point in offered if point.name == name}
    if not found:
        known = sorted({*builtin, *offered.names})
        hint = f"there are: {', '.join(known)}; or name one of your own as module:attr"
        raise NotFoundError(word, name, known, hint)
    if len(found) > 1:
        raise UsageError(
            f"{label} is offered by {' and '.join(sorted(map(_owner, found.values())))}; "
            f"say which: {' or '.join(sorted(found))}"
        )
    (reference, point) = found.popitem()
    return _attribute(reference, f"{label} of {_owner(point)}")


def configure(plugin: type[T], options: Mapping[str, str]) -> T:
    """Make a plug-in's instance from options given as text.

    The plug-in's class is a dataclass whose fields are its options; one that is not has none.

    Args:
        plugin: The class.
        options: Option to value, as typed by a user: ``{"seed": "7", "paths": "a,b"}``.

    Raises:
        NotFoundError: It has no such option.
        UsageError: A value does not fit its field, or a required one is missing.
    """
    fields = _options(plugin)
    label = f"option of {plugin.__name__}"
    for name in options:
        if name not in fields:
            hint = f"it has: {', '.join(fields)}" if fields else "it has none"
            raise NotFoundError(label, name, fields, hint)
    required = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    missing = [name for name in required if name not in options]
    if missing:
        raise UsageError(f"{plugin.__name__} needs the option {missing[0]!r}")
    types = typing.get_type_hints(plugin)
    values = {name: _read(types[name], text, label, name) for name, text in options.items()}
    try:
        return plugin(**values)
    except CodeGymError:
        raise  # it says all there is to say
    except ValueError as error:
        raise UsageError(f"{plugin.__name__}: {error}") from error
    except Exception as error:  # somebody else's code, as above
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"{plugin.__name__} cannot be made: {said}") from error


def options_of(plugin: type) -> frozenset[str]:
    """Names of the options that ``configure`` takes for a plug-in."""
    return frozenset(_options(plugin))


def _owner(point: EntryPoint) -> str:
    """The distribution that offers an entry point."""
    return point.dist.name if point.dist is not None else "?"


def _attribute(reference: str, label: str) -> object:
    """Import ``module:attr``."""
    module_name, _, attribute = reference.partition(":")
    try:
        value: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"{label}: cannot import {module_name!r}: {error}") from error
    except CodeGymError:
        raise  # it says all there is to say
    except Exception as error:  # somebody else's code: whatever it raises is told as its own
        said = f"{type(error).__name__}: {error}"
        raise UsageError(f"{label}: importing {module_name!r} raised {said}") from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise NotFoundError(f"attribute of {module_name} ({label})", part, dir(value))
        value = getattr(value, part)
    return value


def _options(plugin: type) -> dict[str, dataclasses.Field[Any]]:
    """The fields that its constructor takes."""
    if not dataclasses.is_dataclass(plugin):
        return {}
    return {field.name: field for field in dataclasses.fields(plugin) if field.init}


def _read(kind: Any, text: str, label: str, name: str) -> Any:
    """Read one option's value as its field's type; a sequence is separated by commas."""
    from pydantic import TypeAdapter, ValidationError

    many = typing.get_origin(kind) in (tuple, list, frozenset, set)
    value: Any = [part.strip() for part in text.split(",") if part.strip()] if many else text
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
        raise UsageError(f"{label}: {name}={text!r}: {problem}") from error
