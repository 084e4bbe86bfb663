"""Opens the indexes of an episode, by what the operator says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..guard import Serve
from ..journal import Journal
from ..rules import Policy
from .client import Client
from .kinds import moment, same_name
from .record import Record
from .service import Dated, Index


@dataclass(frozen=True, slots=True)
class Origins:
    """What all episodes' indexes have in common.

    Attributes:
        client: Asks upstream.
        inner: The event loop's origins within this process.
    """

    client: Client
    inner: dict[str, Serve]


def open_indexes(
    policy: Policy, journal: Journal, command: Mapping[str, Any], origins: Origins
) -> dict[str, Index]:
    """An index for each rule that is as of a date.

    Raises:
        ValueError: The date is missing or none, or a record is of another one.
        OSError: A record cannot be written.
    """
    rules = [rule for rule in policy.rules if rule.as_of]
    if not rules:
        return {}
    dated = _dated(command, rules[0].name)
    folder = dated.frozen or Path(command["log"]).with_suffix(".index")
    found = {}
    for rule in rules:
        about = {"registry": rule.registry, "host": rule.hosts[0], "port": str(rule.ports[0])}
        about |= {"root": rule.root, "as_of": dated.cutoff.isoformat()}
        record = Record(folder / rule.name, about, replay=dated.frozen is not None)
        found[rule.name] = Index(rule, dated, record, journal, policy.limits, origins.client)
    for index in found.values():
        index.open(origins.inner)
    return found


def _dated(command: Mapping[str, Any], rule: str) -> Dated:
    cutoff = moment(command.get("as_of"))
    if cutoff is None:
        # Passing on today's answers instead would hand over what the date is to hide.
        raise ValueError(f"rule {rule!r} is as of a date; {command.get('as_of')!r} is no date")
    denied = frozenset(same_name(each) for each in command.get("denied", ()))
    frozen = command.get("frozen")
    return Dated(
        cutoff, denied, tuple(command.get("markers", ())), Path(frozen) if frozen else None
    )
