"""Whether an assertion holds on two values, as Python has it, without anything of a sandbox run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from codegym.types import Value


def holds(
    op: str,
    options: Sequence[tuple[str, Any]],
    actual: Value,
    expected: Value,
    gold_actual: Value,
) -> bool:
    """Whether ``actual op expected``.

    Args:
        op: The actual side is always the left one: ``== != < <= > >= in`` and ``not in`` (the
            actual in the expected), ``contains`` and ``not contains`` (the expected in the actual),
            ``is``, ``is not``, ``isinstance``, ``regex``, ``not regex``, ``count_equal``,
            ``almost``, ``not almost``, ``true``, ``false`` (the expected is not looked at),
            ``raises`` (the expected is the tuple of the classes, or the class, and the pattern or
            None; the actual is None where nothing was raised).
        options: Of ``almost``: ``places`` or ``delta``.
        actual: Untrusted.
        expected: From the trusted recording, or, of a site with both sides, untrusted too.
        gold_actual: What gold had there. A subclass or an object in ``actual`` is accepted only
            where this has the same type.
    """
    raise NotImplementedError
