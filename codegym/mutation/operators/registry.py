"""Finds operators by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from codegym import plugins
from codegym.errors import UsageError
from codegym.mutation.operators import c, go, java, javascript, rust, typescript
from codegym.mutation.operators.base import Operator
from codegym.mutation.operators.python import queried
from codegym.types import Kind

_HERE = "codegym.mutation.operators.python"

_PYTHON = {
    "python.arithmetic": f"{_HERE}.expressions:arithmetic",
    "python.augmented_assignment": f"{_HERE}.expressions:augmented_assignment",
    "python.boolean": f"{_HERE}.expressions:boolean",
    "python.changed_constant": f"{_HERE}.constants:changed_constant",
    "python.changed_default": f"{_HERE}.constants:changed_default",
    "python.changed_text": f"{_HERE}.constants:changed_text",
    "python.comparison": f"{_HERE}.expressions:comparison",
    "python.dropped_argument": f"{_HERE}.calls:dropped_argument",
    "python.dropped_filter": f"{_HERE}.conditions:dropped_filter",
    "python.early_return": f"{_HERE}.statements:early_return",
    "python.exception_handling": f"{_HERE}.exceptions:exception_handling",
    "python.loop_control": f"{_HERE}.conditions:loop_control",
    "python.negated_condition": f"{_HERE}.conditions:negated_condition",
    "python.off_by_one": f"{_HERE}.ranges:off_by_one",
    "python.remove_body": f"{_HERE}.bodies:remove_body",
    "python.removed_call": f"{_HERE}.calls:removed_call",
    "python.removed_guard": f"{_HERE}.statements:removed_guard",
    "python.removed_sign": f"{_HERE}.expressions:removed_sign",
    "python.removed_statement": f"{_HERE}.statements:removed_statement",
    "python.swapped_arguments": f"{_HERE}.calls:swapped_arguments",
    "python.swapped_branches": f"{_HERE}.conditions:swapped_branches",
    "python.wrong_attribute": f"{_HERE}.names:wrong_attribute",
    "python.wrong_variable": f"{_HERE}.names:wrong_variable",
}
_QUERIED = (queried, javascript, typescript, go, rust, java, c)

#: The operators that come with CodeGym.
BUILTIN: Mapping[str, str] = _PYTHON | {
    one.id: f"{module.__name__}:OPERATORS.{name}"
    for module in _QUERIED
    for name, one in vars(module.OPERATORS).items()
}
_PARTS = ("id", "version", "languages", "tier")


def load_operators(names: Sequence[str], language: str, kinds: Sequence[Kind]) -> list[Operator]:
    """Load operators.

    Args:
        names: Names, with or without their language (``comparison`` is ``python.comparison``),
            plug-ins' names and ``module:attr``; where empty, all that come with CodeGym.
        language: What they must understand.
        kinds: Kinds of task that they may make.

    Raises:
        NotFoundError: There is none of a name.
        UsageError: One is no operator, does not know the language, or makes another kind of task.
    """
    if not names:
        named = [one for one in BUILTIN if one.startswith(f"{language}.")]
        ours = [cast("Operator", plugins.load("operators", one, BUILTIN)) for one in named]
        return [one for one in ours if kind_of(one) in kinds]
    found: dict[str, Operator] = {}
    for name in names:
        one = _load(name, language)
        if language not in one.languages:
            known = ", ".join(one.languages)
            raise UsageError(f"operator {name!r} is for {known}, not for {language}")
        if kind_of(one) not in kinds:
            raise UsageError(
                f"operator {name!r} makes {kind_of(one)} tasks; ask for them with --kind"
            )
        found[one.id] = one
    return list(found.values())


def kind_of(operator: Operator) -> Kind:
    """The kind of task that an operator makes; most make faults."""
    return cast("Kind", getattr(operator, "kind", "FixTests"))


def _offered(language: str, *, full: bool) -> Mapping[str, str]:
    """The operators of a language, as one names them who wants one of it."""
    prefix = f"{language}."
    return {
        one if full else one.removeprefix(prefix): where
        for one, where in BUILTIN.items()
        if one.startswith(prefix)
    }


def _load(name: str, language: str) -> Operator:
    full = name if name in BUILTIN else f"{language}.{name}"
    if full in BUILTIN:
        found = plugins.load("operators", full, BUILTIN)
    else:
        found = plugins.load("operators", name, _offered(language, full="." in name))
    made = found() if isinstance(found, type) else found
    missing = [part for part in _PARTS if not hasattr(made, part)]
    if missing or not callable(made):
        lacks = ", ".join(missing) or "__call__"
        raise UsageError(
            f"{name!r} is no operator: it lacks {lacks} (see codegym.mutation.Operator)"
        )
    return cast("Operator", made)
