"""Opens the indexes of an episode, by what the operator says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..account import Account
from ..guard import Serve
from . import KINDS
from .kinds import moment, same_name
from .origin import Origin
from .record import Record
from .scan import Scanner
from .service import Index
from .store import Store, Upstream


def open_indexes(
    account: Account, command: Mapping[str, Any], upstream: Upstream, inner: dict[str, Serve]
) -> None:
    """Open an index for each rule of an account's policy that is as of a date.

    Args:
        account: The episode's.
        command: What the operator says of it (see ``Control``).
        upstream: What all episodes' indexes share.
        inner: The event loop's origins within this process.

    Raises:
        ValueError: The date is missing or none, or a record is of another one.
        OSError: A record cannot be written.
    """
    for rule in account.policy.rules:
        if not rule.as_of:
            continue
        cutoff = moment(command.get("as_of"))
        if cutoff is None:
            # Passing on today's answers instead would hand over what the date is to hide.
            raise ValueError(
                f"rule {rule.name!r} is as of a date; {command.get('as_of')!r} is none"
            )
        frozen = command.get("frozen")
        folder = Path(frozen) if frozen else Path(command["log"]).with_suffix(".index")
        about = {"registry": rule.registry, "host": rule.hosts[0], "port": str(rule.ports[0])}
        about |= {"root": rule.root, "as_of": cutoff.isoformat()}
        record = Record(folder / rule.name, about, replay=bool(frozen))
        scanner = Scanner(tuple(command.get("markers", ())))
        kind = KINDS[rule.registry]
        store = Store(rule, kind, cutoff, scanner, record, account, upstream)
        denied = frozenset(map(same_name, command.get("denied", ())))
        index = Index(rule, kind, denied, store, account.journal)
        account.indexes[rule.name] = Origin(index, inner)
