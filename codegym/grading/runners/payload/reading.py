"""Reads classes and instances raw, so that no code of theirs has a say in it.

Payload, loaded by ``run_suite`` before ``library`` and ``canonical``.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

MAX_NAME = 200
MISSING = object()

quietly = contextlib.suppress(Exception)

# With these no metaclass is asked.
bases_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
namespace = type.__dict__["__dict__"].__get__
qualname = type.__dict__["__qualname__"].__get__
module_of = type.__dict__["__module__"].__get__
flags_of = type.__dict__["__flags__"].__get__


def name_of(kind: type) -> str:
    """The qualified name of a class, bounded."""
    module, name = module_of(kind), qualname(kind)
    return clean(f"{module if type(module) is str else '?'}.{name}")


def clean(text: str) -> str:
    """Text that can be encoded, bounded."""
    return text[:MAX_NAME].encode("utf-8", "backslashreplace").decode()[:MAX_NAME]


def raw(value: Any, kind: type, name: str) -> Any:
    """An attribute from where an instance keeps it, or ``MISSING``; nothing of its class runs."""
    found = in_class(kind, name)
    if type(found) is types.MemberDescriptorType:
        with quietly:
            return found.__get__(value, kind)
        return MISSING
    if type(found) is property:
        return MISSING
    home = in_class(kind, "__dict__")
    if type(home) is not types.GetSetDescriptorType:
        return MISSING
    return dict.get(home.__get__(value, kind), name, MISSING)


def in_class(kind: type, name: str) -> Any:
    """What a class or a base of it defines under a name, or None."""
    for base in bases_of(kind):
        if name in namespace(base):
            return namespace(base)[name]
    return None


def get(owner: type, name: str, value: Any) -> Any:
    """What a type written in C keeps, even where a subclass hides it."""
    return namespace(owner)[name].__get__(value)
