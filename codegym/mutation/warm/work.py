"""What a session is asked to try, made of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from codegym.mutation.candidates import Candidate
from codegym.mutation.pieces import Cut, cuts
from codegym.syntax import Edit, Parsed
from codegym.types import WORKSPACE, Mutant, Piece, Replacement, Work

#: Processor time: so many times what the tests took, and so many seconds more.
_PATIENCE, _GRACE_SEC = 4.0, 0.5
#: Wall time, a busy machine gives a process a part of it; and of that, what nothing is done in.
_WALL, _WALL_SEC = 10.0, 3.0
_WAIT, _WAIT_SEC = 3.0, 1.0


@dataclass
class Making:
    """Collects what one session tries; tests and pieces are sent once.

    Args:
        cpu_sec: Processor time of each test.
        wait_sec: What it takes besides.
    """

    cpu_sec: Mapping[str, float]
    wait_sec: Mapping[str, float] = field(default_factory=dict)
    _tests: dict[str, int] = field(default_factory=dict)
    _pieces: dict[Piece, int] = field(default_factory=dict)
    _mutants: list[Mutant] = field(default_factory=list)

    def add(self, candidate: Candidate | None, tests: Iterable[str], *, null: bool = False) -> int:
        """Add one; its index.

        Args:
            candidate: What is tried; None: the tests as they are.
            tests: What is run.
            null: Whether what is put into functions is what they have.
        """
        edits: dict[int, tuple[Replacement, ...]] = {}
        for path, (parsed, wanted) in candidate.files.items() if candidate else ():
            for cut, mine in (cuts(parsed, wanted) or {}).items():
                at = self._pieces.setdefault(_piece(path, parsed, cut), len(self._pieces))
                edits[at] = ((0, 0, ""),) if null else _replacements(cut.moved(mine))
        chosen = list(tests)
        places = tuple(self._tests.setdefault(one, len(self._tests)) for one in chosen)
        cpu_sec = _GRACE_SEC + _PATIENCE * sum(self.cpu_sec.get(one, 0.0) for one in chosen)
        idle_sec = _WAIT_SEC + _WAIT * sum(self.wait_sec.get(one, 0.0) for one in chosen)
        wall_sec = _WALL_SEC + _WALL * cpu_sec + idle_sec
        self._mutants.append(Mutant(edits, places, cpu_sec, wall_sec, idle_sec))
        return len(self._mutants) - 1

    def work(self, memory_mb: int) -> Work:
        """All of it."""
        return Work(tuple(self._tests), tuple(self._pieces), tuple(self._mutants), memory_mb)


def is_in_functions(candidate: Candidate) -> bool:
    """Whether all edits lie in functions, of Python."""
    return candidate.source.language == "python" and all(
        cuts(parsed, edits) is not None for parsed, edits in candidate.files.values()
    )


def _piece(path: str, parsed: Parsed, cut: Cut) -> Piece:
    text = cut.text(parsed.source).decode()
    return Piece(f"{WORKSPACE}/{path}", cut.line, cut.headers, text, cut.future)


def _replacements(edits: Sequence[Edit]) -> tuple[Replacement, ...]:
    return tuple((one.start, one.end, one.replacement.decode()) for one in edits)
