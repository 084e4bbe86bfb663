"""What an attack is, and where all of them are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Literal, get_args

from codegym.errors import NotFoundError

if TYPE_CHECKING:
    from codegym.redteam.play import Play

Family = Literal["git", "leftovers", "online", "grading", "lifecycle"]
#: From what is best to what is worst.
Outcome = Literal["impossible", "refused", "detected", "succeeded"]

FAMILIES: tuple[Family, ...] = get_args(Family)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
MAX_EVIDENCE_CHARS = 600


class Inapplicable(Exception):  # noqa: N818 it is no error: the task has nothing of the kind
    """Raised by an attack that this task, or this image, gives no occasion for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How one attack on one task ended.

    Attributes:
        outcome: ``"impossible"``: what it wanted is not there, or did nothing. ``"refused"``: what
            it left did not cross. ``"detected"``: it was named as tampering and scored 0.
            ``"succeeded"``: it got through.
        evidence: What shows that, for a person; at most ``MAX_EVIDENCE_CHARS`` are kept.
    """

    outcome: Outcome
    evidence: str


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack.

    Attributes:
        name: Named after its mechanism, for example ``"git-keep-pack"``.
        family: The class of the catalogue that it belongs to.
        mechanism: How it works, in one sentence.
        source: Where it was published.
        play: Plays it in a running episode.
    """

    name: str
    family: Family
    mechanism: str
    source: str
    play: Callable[[Play], Awaitable[Finding]]


_ATTACKS: dict[str, Attack] = {}


def attack(
    name: str, family: Family, mechanism: str, source: str
) -> Callable[[Callable[[Play], Awaitable[Finding]]], Attack]:
    """Register a function as an attack.

    Raises:
        ValueError: There is one of that name.
    """

    def register(function: Callable[[Play], Awaitable[Finding]]) -> Attack:
        if name in _ATTACKS:
            raise ValueError(f"two attacks are named {name!r}")
        made = _ATTACKS[name] = Attack(name, family, mechanism, source, function)
        return made

    return register


def catalogue(names: Sequence[str] = ()) -> list[Attack]:
    """All attacks, or those named, by family in the order written.

    Raises:
        NotFoundError: There is none of a name.
    """
    folder = import_module("codegym.redteam.attacks")
    for module in sorted(found.name for found in iter_modules(folder.__path__)):
        import_module(f"{folder.__name__}.{module}")
    for name in names:
        if name not in _ATTACKS:
            hint = "`codegym redteam --list` names them all"
            raise NotFoundError("attack", name, _ATTACKS, hint=hint)
    chosen = [one for one in _ATTACKS.values() if not names or one.name in names]
    return sorted(chosen, key=lambda one: FAMILIES.index(one.family))
