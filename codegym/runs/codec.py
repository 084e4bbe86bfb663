"""Dataclasses to JSON and back; bytes are base64. Only this file knows pydantic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from codegym.errors import DataError

T = TypeVar("T")

_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", extra="forbid")


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        # A dataclass itself takes no config; inside a tuple it inherits the tuple's.
        _ADAPTERS[kind] = TypeAdapter(tuple[kind], config=_CONFIG)  # type: ignore[valid-type]
    return _ADAPTERS[kind]


def encode(value: object) -> bytes:
    """Write a dataclass as one line of JSON, without the newline.

    A policy can put lone surrogates into an action; they have no UTF-8 form and are written as "?".
    """
    plain = _adapter(type(value)).dump_python((value,), mode="json")[0]
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


def decode(kind: type[T], data: bytes, path: Path, line: int | None = None) -> T:
    """Read what ``encode`` wrote.

    Raises:
        DataError: It is not that, with file, line and field.
    """
    try:
        value: T = _adapter(kind).validate_json(b"[" + data + b"]")[0]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        raise DataError(path, first["msg"], line=line, field=field or None) from None
    return value
