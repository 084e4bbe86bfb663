"""From outside data to typed values: what pydantic found wrong, in our words."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from pydantic import BaseModel, ConfigDict, ValidationError

#: A place in a file: keys, without list positions.
Keys = tuple[str, ...]
#: What pydantic finds, in our words; its context fills in the numbers.
_WORDS = {
    "too_short": "must have at least {min_length} entry, has {actual_length}",
    "string_too_short": "must not be empty: at least {min_length} character",
    "list_type": "must be a valid list",
    "tuple_type": "must be a valid list",
    "string_type": "must be a string",
    "dict_type": "must be a dictionary",
    "model_type": "must be a dictionary",
    "bool_type": "must be true or false",
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "less_than_equal": "must be at most {le}",
}


class Strict(BaseModel):
    """A model for a file's content: no unknown keys, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def first_problem(
    error: ValidationError, models: Mapping[Keys, type[BaseModel]]
) -> tuple[str, str]:
    """Return the field (``"suites.0.name"``) and the problem of the first thing that is wrong.

    Args:
        error: What pydantic raised.
        models: The models by place, to suggest the nearest known key.
    """
    details = error.errors(include_url=False)
    # A misspelt key is said before the missing one that it should have been.
    first = next((d for d in details if d["type"] == "extra_forbidden"), details[0])
    location = tuple(str(part) for part in first["loc"] if part != "[key]")
    field = ".".join(location)
    if first["type"] != "extra_forbidden":
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] in _WORDS:
            problem = _WORDS[first["type"]].format(**first.get("ctx", {}))
        return field, problem[:1].lower() + problem[1:]
    keys = tuple(part for part in location if not part.isdigit())
    known = list(models[keys[:-1]].model_fields) if keys[:-1] in models else []
    return field, f"unknown key; {nearest(keys[-1], known)}"


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint: the known name that is nearest, or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def require_inside(path: str) -> str:
    """Return a relative POSIX path that stays inside its folder, or raise ``ValueError``."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or not path.isprintable():
        raise ValueError(f"{path!r} must be a relative path inside the folder")
    return path
