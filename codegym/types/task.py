"""A task: one problem in one environment. The in-memory form of a row (see ``codegym.tasks``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["FixTests", "FixIssue", "ImplementFeature"]


@dataclass(frozen=True, slots=True)
class Task:
    """One problem. Patches are unified diffs with ``a/`` and ``b/`` prefixes.

    Attributes:
        instance_id: Unique in its pack, for example ``"kvlog-1a2b3c4d"``.
        environment: Name of the environment it belongs to.
        base_commit: Full hash of the commit in the environment's history.
        patch: The gold patch; applies on top of ``base_commit`` + ``start_patch``.
        test_patch: Changes to tests; laid over for grading, and shown where the kind shows tests.
        start_patch: Applied to ``base_commit`` before the policy starts (how a mutant has a start).
        fail_to_pass: Test ids that fail at the start and pass on gold. Never empty.
        pass_to_pass: Test ids that pass at the start and on gold.
        hidden: Test ids of the above that a policy never sees, in any form.
        suite: Name of the environment's suite that has the tests.
        provenance: Generator, operators with versions, parent, seed, edited spans.
        features: Numbers and labels that predict difficulty.
    """

    instance_id: str
    environment: str
    base_commit: str
    patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_patch: str = ""
    start_patch: str = ""
    problem_statement: str = ""
    hints_text: str = ""
    created_at: str = ""
    version: str = ""
    repo: str = ""
    kind: Kind = "FixTests"
    language: str = "python"
    suite: str = "unit"
    hidden: frozenset[str] = frozenset()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)

    @property
    def test_ids(self) -> tuple[str, ...]:
        """All ids a grade expects, exactly once each: FAIL_TO_PASS, then PASS_TO_PASS."""
        return self.fail_to_pass + self.pass_to_pass
