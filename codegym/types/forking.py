"""What crosses between mutation and a runner that tries many edits in one session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from codegym.types.protocols import Runner, RunnerCommand


@dataclass(frozen=True, slots=True)
class Piece:
    """A function, cut out of its file with what it stands in.

    Attributes:
        path: The file, absolute, inside.
        line: The line that it begins in, from 1.
        headers: What stands around it, outermost first: a line each.
        text: Its lines, whole.
        future: What its file imports from ``__future__``.
    """

    path: str
    line: int
    headers: tuple[str, ...]
    text: str
    future: tuple[str, ...] = ()


#: Start and end, in bytes of a piece's text, and what comes instead.
Replacement = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One thing to try.

    Attributes:
        edits: By piece, as an index; with none, tests run as they are.
        tests: Indices of the tests to run.
        cpu_sec: Processor time that they may take.
        wall_sec: Wall time that they may take.
        idle_sec: Of that, how long no thread of theirs may have anything to do.
    """

    edits: Mapping[int, tuple[Replacement, ...]]
    tests: tuple[int, ...]
    cpu_sec: float
    wall_sec: float
    idle_sec: float


@dataclass(frozen=True, slots=True)
class Work:
    """What one session is to try.

    Attributes:
        tests: Test ids; indices are of these.
        pieces: Functions; indices are of these.
        mutants: What is tried, in order.
        memory_mb: What each may take beyond what the session has.
    """

    tests: tuple[str, ...]
    pieces: tuple[Piece, ...]
    mutants: tuple[Mutant, ...]
    memory_mb: int


@dataclass(frozen=True, slots=True)
class Look:
    """What trying one showed, untrusted.

    Attributes:
        ended: ``"cold"``: it cannot be tried in a session that is there already.
        why: Of one that did not run, in a word.
        failed: Tests that did, to ``"failed"`` or ``"error"`` and the class of what was raised.
        passed: Tests that did.
        seconds: Processor time of each test.
        waited: Wall time of each that was not that.
    """

    ended: Literal["ran", "cold", "timed_out", "crashed"]
    why: str = ""
    failed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    passed: frozenset[str] = frozenset()
    seconds: Mapping[str, float] = field(default_factory=dict)
    waited: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """What one session reported, untrusted.

    Attributes:
        refused: Why it cannot fork, or ``""``; None where it did not say.
        missing: Tests that were not collected.
        looks: By the mutant's index; those that are not there were not reached.
    """

    refused: str | None
    missing: frozenset[str]
    looks: Mapping[int, Look]


@runtime_checkable
class ForkingRunner(Runner, Protocol):
    """A runner that can try many edits in one session. As untrusted as its report."""

    def forker(self) -> Mapping[str, bytes]:
        """Files that this needs besides ``payload()``."""
        ...

    def forking(self, command: RunnerCommand, work: Work) -> RunnerCommand:
        """The same command, trying ``work`` instead of running tests."""
        ...

    def session(self, report: bytes, work: Work) -> Session:
        """Read what was reported of ``work``. What cannot be read is left out."""
        ...


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run differs from an ordinary one.

    Attributes:
        reverse: Whether the tests run in the opposite order.
        hash_seed: What hashes are seeded with.
        brief: Whether nobody reads why a test failed.
        bytecode: What modules compile to, as ``VaryingRunner.bytecode`` gave it; empty: nothing.
        changed: Files, relative to the project's root, that are others than when that was made.
        compiling: Whether no test is run, and what modules compile to is reported instead.
        all_or_nothing: Whether nothing matters any more when one test failed: those after it may be
            cut off.
    """

    reverse: bool = False
    hash_seed: int = 0
    brief: bool = False
    bytecode: bytes = b""
    changed: tuple[str, ...] = ()
    compiling: bool = False
    all_or_nothing: bool = False


@runtime_checkable
class VaryingRunner(Runner, Protocol):
    """A runner that can run the same tests otherwise: what is steady ends alike."""

    def laid(self, manner: Manner) -> Mapping[str, bytes]:
        """Files that a manner needs besides ``payload()``."""
        ...

    def varied(self, command: RunnerCommand, manner: Manner) -> RunnerCommand:
        """The same command in another manner."""
        ...

    def bytecode(self, report: bytes) -> bytes:
        """Read what was reported; empty where it cannot be read."""
        ...
