"""The fixed words of statements. They are the same for every answer, so they tell nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Openings by what is wrong; ``{}`` is what is called.
OPENINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "value": (
        "{} used to work, and gives a wrong result now.",
        "There is a wrong result where there was a right one before: {}.",
        "I get a wrong result from {}; an older version gave the right one.",
    ),
    "error": (
        "{} used to work, and ends in an error now.",
        "There is an error where there was none before: {}.",
        "I get an error from {}; an older version gave none.",
    ),
    "no_error": (
        "{} used to refuse what is wrong, and accepts it now.",
        "An error that should be there is not: {}.",
        "I expected an error from {}, as an older version gave one; there is none.",
    ),
    "unknown": (
        "{} used to work, and does not any more.",
        "{} does not behave as it did before.",
        "I see another behaviour of {} than an older version had.",
    ),
}
ANY: Final = "Something used to work, and does not any more."
SOMETHING: Final = "Something"

GIVES: Final = "For example, `{call}` gives `{got}`, not `{expected}`."
IS_NOT: Final = "For example, `{call}` is `{got}`, not `{expected}`."
DIFFER: Final = "For example, `{got}` and `{expected}` should be equal."
FAILS: Final = "For example, `{held}` does not hold any more."
FAILS_FOR: Final = (
    "For example, `{held}` does not hold any more: there are `{got}` and `{expected}`."
)
ENDS: Final = "For example, `{call}` ends in `{said}`."
IS: Final = "The error is `{said}`."
OF: Final = "It is of `{error}`."
SEE: Final = "What I see: {said}"
REPRODUCE: Final = "To reproduce it:"
HAPPENS: Final = "This is what happens:"
COUNT: Final = "In all, {count} tests notice it."
MISSING: Final = "{listed} {are} not implemented. Write it."
WANTED: Final = (
    "Its signature, its description, the code that uses it and the tests say what it is to do."
)
EXAMPLE: Final = "For example:"

_ONES = (
    ANY, GIVES, IS_NOT, DIFFER, FAILS, FAILS_FOR, ENDS, IS, OF, SEE, REPRODUCE, HAPPENS, COUNT,
    WANTED, EXAMPLE,
)  # fmt: skip
#: All of them.
TEXT: Final = "\n".join([*_ONES, *(one for each in OPENINGS.values() for one in each)])
