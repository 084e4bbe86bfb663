"""From a step's episodes to what is learned from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from codegym.training.feedback import Lesson
from codegym.training.hints import Hint
from codegym.training.losses import centred
from codegym.training.sequences import Span, TokenSequence, sequences
from codegym.types import EpisodeResult

#: Makes a lesson of a hint, or None where it does not fit.
Teach = Callable[[TokenSequence, Span, Hint], Lesson | None]


@dataclass(frozen=True, slots=True)
class Experience:
    """What a step learns from; sequences, advantages and lessons belong together by position.

    Attributes:
        sequences: Of all episodes that say something.
        advantages: One for each sequence; 0.0 where only hints are learned from.
        lessons: The hinted turns of each sequence.
        numbers: What is worth plotting.
    """

    sequences: tuple[TokenSequence, ...]
    advantages: tuple[float, ...]
    lessons: tuple[tuple[Lesson, ...], ...]
    numbers: Mapping[str, float]

    @property
    def rewarded_tokens(self) -> int:
        """Tokens of sequences that have an advantage."""
        pairs = zip(self.sequences, self.advantages, strict=True)
        return sum(len(sequence.actions) for sequence, advantage in pairs if advantage)

    @property
    def hinted_tokens(self) -> int:
        """Tokens of hinted turns."""
        spans = (lesson.span for lessons in self.lessons for lesson in lessons)
        return sum(span.end - span.start for span in spans)


def gather(
    groups: Sequence[Sequence[EpisodeResult]],
    hints: Mapping[int, Sequence[Hint]],
    teach: Teach,
) -> Experience:
    """Put a step's episodes together.

    An episode that was lost to a fault is no evidence: its group goes on without it. A group whose
    episodes are all rewarded alike has no advantages; its hints are learned from all the same.

    Args:
        groups: The episodes of each task.
        hints: Of each episode, by its index.
        teach: Puts a hint before a turn.
    """
    found: list[tuple[TokenSequence, float, tuple[Lesson, ...]]] = []
    dropped = 0
    for group in groups:
        graded = [result for result in group if not result.fault]
        advantages = centred([result.reward for result in graded])
        dropped += advantages is None
        for number, result in enumerate(graded):
            advantage = advantages[number] if advantages else 0.0
            told = {hint.turn: hint for hint in hints.get(result.index, ())}
            for sequence in sequences(result.trajectory):
                lessons = _lessons(sequence, told, teach)
                if advantage or lessons:
                    found.append((sequence, advantage, lessons))
    played = [result for group in groups for result in group]
    numbers = _numbers(played) | {
        "groups_without_signal": float(dropped),
        "hints": float(sum(map(len, hints.values()))),
        "lessons": float(sum(len(lessons) for _, _, lessons in found)),
    }
    return Experience(
        tuple(sequence for sequence, _, _ in found),
        tuple(advantage for _, advantage, _ in found),
        tuple(lessons for _, _, lessons in found),
        numbers,
    )


def _lessons(sequence: TokenSequence, told: Mapping[int, Hint], teach: Teach) -> tuple[Lesson, ...]:
    made = (teach(sequence, span, told[span.turn]) for span in sequence.spans if span.turn in told)
    return tuple(lesson for lesson in made if lesson is not None)


def _numbers(played: Sequence[EpisodeResult]) -> dict[str, float]:
    graded = [result for result in played if result.grade is not None]
    count = max(1, len(graded))
    turns = [turn for result in graded for turn in result.trajectory.turns]
    said = [len(t.action.tokens.completion_ids) for t in turns if t.action.tokens is not None]
    return {
        "episodes": float(len(played)),
        "faults": float(sum(bool(result.fault) for result in played)),
        "reward": sum(result.reward for result in graded) / count,
        "solved": sum(r.grade.solved for r in graded if r.grade is not None) / count,
        "tampered": sum(bool(r.grade.tampering) for r in graded if r.grade is not None) / count,
        "turns": len(turns) / count,
        "tokens": float(sum(said)),
    }
