"""What an episode is allowed, what it used, and where that is written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .journal import Journal
from .rules import Policy, Spent

if TYPE_CHECKING:
    from .certificates import EpisodeTls
    from .index.origin import Origin


@dataclass(slots=True)
class Account:
    """An episode's account.

    Attributes:
        indexes: For each rule that is as of a date, who answers instead of its hosts.
    """

    policy: Policy
    journal: Journal
    tls: EpisodeTls
    spent: Spent = field(default_factory=Spent)
    indexes: dict[str, Origin] = field(default_factory=dict)

    def close(self) -> None:
        """End what is under way, and the log; idempotent."""
        for index in self.indexes.values():
            index.close()
        self.journal.close()
