"""What a grader says of a policy's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from codegym.types.files import Refusal

Outcome = Literal["passed", "failed", "error", "skipped", "missing"]
Assurance = Literal["observed", "controls", "report_only"]
#: From the least to the most.
ASSURANCES: tuple[Assurance, ...] = ("report_only", "controls", "observed")


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """One expected test. ``message`` is untrusted text from the sandbox, bounded in length."""

    __test__ = False  # not a pytest class

    id: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Tampering:
    """One thing the policy tried that could have raised a score without solving.

    Attributes:
        kind: A stable label: ``"edited_tests"``, ``"added_conftest"``, ``"test_configuration"``,
            ``"interpreter_hook"``, ``"bytecode"``, ``"git"``, ``"link"``, ``"report"``…
        path: The path concerned, or ``""``.
        detail: One sentence, for a person.
    """

    kind: str
    path: str
    detail: str


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict.

    Attributes:
        score: 1.0 if and only if every FAIL_TO_PASS and PASS_TO_PASS test passes in the fresh
            sandbox, so does every held-out sibling, and nothing was tampered with; else 0.0.
        outcomes: One for each expected id, in the task's order. A missing id is a failure.
        fail_to_pass: Fraction of FAIL_TO_PASS that pass, 0 to 1.
        pass_to_pass: Fraction of PASS_TO_PASS that pass, 0 to 1 (1.0 where there are none).
        refused: Paths of the work that did not cross, with reasons.
        tampering: What the policy tried. Any entry makes the score 0.0.
        assurance: How hard the verdict is to forge by code under test: that of the FAIL_TO_PASS
            test with the least. ``observed``: what it returned was compared outside; ``controls``:
            it also failed where it was asked to, in processes of its own; ``report_only``: it is
            the word of a process that such code shares.
        durations_sec: Seconds by phase: ``transfer``, ``start``, ``tests``, ``controls``,
            ``total``.
        text: A short account a person or a model can learn from; nothing of hidden tests in it.
        attempts: What it looked for in vain (the answer in git, say). They change no score.
        forging_bound: Chance, 0 to 1, that code which solves nothing guesses the values that were
            compared, where it knows all that the policy was shown; 1.0 where none were.
        protection: How many FAIL_TO_PASS tests have each assurance.
        siblings: How many held-out variants of FAIL_TO_PASS tests, with other inputs, had to pass.
        siblings_passed: How many did.
        hard_codable: Whether there were none, or only such that take answers that are shown, in
            tests or in what is to be changed, or truth values: then a table of the tests' inputs,
            with one answer for all others, would pass, or may.
    """

    score: float
    outcomes: tuple[TestOutcome, ...] = ()
    fail_to_pass: float = 0.0
    pass_to_pass: float = 0.0
    refused: tuple[Refusal, ...] = ()
    tampering: tuple[Tampering, ...] = ()
    assurance: Assurance = "report_only"
    durations_sec: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    attempts: tuple[Tampering, ...] = ()
    forging_bound: float = 1.0
    protection: Mapping[Assurance, int] = field(default_factory=dict)
    siblings: int = 0
    siblings_passed: int = 0
    hard_codable: bool = True

    @property
    def solved(self) -> bool:
        """Whether the score is 1.0."""
        return self.score == 1.0
