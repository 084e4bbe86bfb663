"""Finds composites by name."""

from __future__ import annotations

from collections.abc import Sequence

from codegym.errors import NotFoundError, UsageError
from codegym.mutation.composites.base import Composite
from codegym.mutation.composites.drift import Drift
from codegym.mutation.composites.failed import Failed
from codegym.mutation.composites.linked import Linked
from codegym.mutation.composites.mask import Mask
from codegym.mutation.composites.pair import Pair
from codegym.mutation.composites.revert import Revert
from codegym.mutation.composites.subtree import Subtree
from codegym.types import Kind

#: Those that come with CodeGym, by id.
COMPOSITES: dict[str, Composite] = {
    one.id: one for one in (Pair(), Linked(), Drift(), Mask(), Revert(), Subtree(), Failed())
}


def is_composite(name: str) -> bool:
    """Whether a name, with or without ``composite.``, is that of a composite."""
    return f"composite.{name.removeprefix('composite.')}" in COMPOSITES


def load_composites(names: Sequence[str], kinds: Sequence[Kind]) -> list[Composite]:
    """The composites of some names; where empty, all that make one of some kinds.

    Raises:
        NotFoundError: There is none of a name.
        UsageError: One makes another kind of task.
    """
    if not names:
        return [one for one in COMPOSITES.values() if one.kind in kinds]
    found = []
    for name in names:
        full = f"composite.{name.removeprefix('composite.')}"
        if full not in COMPOSITES:
            raise NotFoundError("composite", name, COMPOSITES)
        one = COMPOSITES[full]
        if one.kind not in kinds:
            raise UsageError(f"{full} makes {one.kind} tasks; ask for them with --kind")
        found.append(one)
    return found
