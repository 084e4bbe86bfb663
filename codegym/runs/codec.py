"""Dataclasses to JSON and back; bytes are base64. Only this file knows pydantic.

A line of a run on a sealed pack is sealed as a whole, and opened with the key of the environment.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from codegym.errors import DataError
from codegym.store.seal import Seal, seal_from_environment

T = TypeVar("T")

_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", extra="forbid")


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        # A dataclass itself takes no config; inside a tuple it inherits the tuple's.
        _ADAPTERS[kind] = TypeAdapter(tuple[kind], config=_CONFIG)  # type: ignore[valid-type]
    return _ADAPTERS[kind]


_SEALED = b'{"sealed":'


def encode(value: object, seal: Seal | None = None) -> bytes:
    """Write a dataclass as one line of JSON, without the newline; sealed, where there is a seal.

    A policy can put lone surrogates into an action; they have no UTF-8 form and are written as "?".
    """
    plain = _adapter(type(value)).dump_python((value,), mode="json")[0]
    line = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")
    if seal is None:
        return line
    return _SEALED + b'"' + base64.b64encode(seal.close(line)) + b'"}'


def decode(kind: type[T], data: bytes, path: Path, line: int | None = None) -> T:
    """Read what ``encode`` wrote.

    Raises:
        DataError: It is not that, with file, line and field.
        UsageError: It is sealed, and there is no key.
    """
    if data.startswith(_SEALED):
        data = _opened(data, path, line)
    try:
        value: T = _adapter(kind).validate_json(b"[" + data + b"]")[0]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        raise DataError(path, first["msg"], line=line, field=field or None) from None
    return value


def _opened(data: bytes, path: Path, line: int | None) -> bytes:
    """What a sealed line holds."""
    seal = seal_from_environment()
    try:
        return seal.open(base64.b64decode(json.loads(data)["sealed"], validate=True))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(path, f"a sealed line cannot be opened: {error}", line=line) from None
