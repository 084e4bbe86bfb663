"""What is known of an assertion that can be turned into an observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Form = Literal["compare", "truth", "raises"]
Sides = Literal["one", "both"]
Option = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Site:
    """One assertion, or one part of an assertion whose parts are joined with ``and``.

    Attributes:
        id: Unique in its file, and the same whenever the source is the same.
        test: The test it is in, ``"Class::function"`` or ``"function"``; ``""`` in a helper.
        line: Where it begins in the original, from 1.
        text: The assertion's source in one line, bounded in length.
        form: ``"compare"``: two values; ``"truth"``: one; ``"raises"``: what a block raises.
        op: What has to hold, read from the *actual* value on the left: for ``compare`` one of
            ``== != < <= > >= in "not in" is "is not" isinstance "not isinstance" regex "not regex"
            count_equal almost "not almost"``, and ``contains`` or ``"not contains"`` where the
            actual value is the container; for ``truth`` ``"true"`` or ``"false"``; for ``raises``
            ``"raises"``.
        options: Of ``almost``: ``("places", 7)`` or ``("delta", 0.1)``.
        sides: ``"one"``: the expected side comes from the test alone, so it can be taken out.
            ``"both"``: both come, or may come, from code under test.
        sealed: Of ``"one"``: once every site of the module is observed, nothing of the expected
            side stays in the source that is shipped.
    """

    id: int
    test: str
    line: int
    text: str
    form: Form
    op: str
    options: tuple[tuple[str, Option], ...] = ()
    sides: Sides = "one"
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Sibling:
    """A copy of a test with other inputs.

    Attributes:
        test: The test it was made of, as ``Site.test``.
        name: Its function's name; its class is that of ``test``.
        edits: What differs: byte offsets in the original module, and new text.
        rows: Where only rows of tables differ: which, by a parameter that they give a value to.
        mirrored: Where both sides come from code under test, it asks for the other one.
    """

    test: str
    name: str
    edits: tuple[tuple[int, int, str], ...]
    rows: frozenset[tuple[str, int]] | None = None
    mirrored: bool = False

    @property
    def id(self) -> str:
        """As ``Site.test``, of the copy itself."""
        return renamed(self.test, self.name)

    def differs(self, key: str) -> bool:
        """Whether it is given another input than its original, for the parameters in a key."""
        parameters = key.partition("{")[2].rstrip("}").split(",")
        return self.rows is None or any(f"{name}={row}" in parameters for name, row in self.rows)


def renamed(test: str, name: str) -> str:
    """A test's name, another function's of the same class."""
    scope, separator, _ = test.rpartition("::")
    return f"{scope}{separator}{name}"
