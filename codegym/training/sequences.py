"""From what a policy sampled to the tokens that are trained on; nothing is tokenised again."""

from __future__ import annotations

from dataclasses import dataclass

from codegym.errors import UsageError
from codegym.types import TokenTrace, Trajectory


@dataclass(frozen=True, slots=True)
class Span:
    """Where a turn's action is: ``ids[start:end]`` of its sequence; ``turn`` counts from 0."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """Tokens of one or more turns, as the sampler saw them. All of the same length.

    Attributes:
        ids: Token ids.
        env_mask: True where the policy did not write the token: it is never trained on.
        sampler_logprobs: Natural-log probability under the sampler; 0.0 where ``env_mask``.
        spans: The turns' actions, in order; exactly the places where ``env_mask`` is False.
    """

    ids: tuple[int, ...]
    env_mask: tuple[bool, ...]
    sampler_logprobs: tuple[float, ...]
    spans: tuple[Span, ...]

    @property
    def actions(self) -> tuple[int, ...]:
        """Places of the policy's tokens, in order."""
        return tuple(place for span in self.spans for place in range(span.start, span.end))

    def logprobs(self) -> tuple[float, ...]:
        """The sampler's, of the policy's tokens, in order."""
        return tuple(self.sampler_logprobs[place] for place in self.actions)


class _Growing:
    """A sequence that turns are added to."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float] = []
        self.spans: list[Span] = []

    def takes(self, trace: TokenTrace) -> bool:
        """Whether the turn goes on from here: its prompt starts with all that is here."""
        return trace.prompt_ids[: len(self.ids)] == tuple(self.ids)

    def add(self, turn: int, trace: TokenTrace) -> None:
        fresh, said = trace.prompt_ids[len(self.ids) :], trace.completion_ids
        self.ids += [*fresh, *said]
        self.mask += [True] * len(fresh) + [False] * len(said)
        self.logprobs += [0.0] * len(fresh) + list(trace.logprobs)
        self.spans.append(Span(turn, len(self.ids) - len(said), len(self.ids)))

    def done(self) -> TokenSequence:
        return TokenSequence(
            tuple(self.ids), tuple(self.mask), tuple(self.logprobs), tuple(self.spans)
        )


def sequences(trajectory: Trajectory) -> tuple[TokenSequence, ...]:
    """The sequences of an episode: one, and another wherever a prompt does not go on from the last.

    A prompt goes on where it starts with the turn before, prompt and completion, token for token.
    Where it does not (the policy left something out of a full context) a new sequence begins, and
    what precedes the turn in it is what the sampler was given.

    Raises:
        UsageError: An action has no tokens, or they don't fit each other: nothing to train on.
    """
    found: list[_Growing] = []
    for number, turn in enumerate(trajectory.turns):
        trace = turn.action.tokens
        if trace is None and not turn.action.text:
            continue  # cut off before it said anything
        _check(trajectory, number, trace)
        if trace is not None and trace.completion_ids:
            if not found or not found[-1].takes(trace):
                found.append(_Growing())
            found[-1].add(number, trace)
    return tuple(each.done() for each in found)


def _check(trajectory: Trajectory, number: int, trace: TokenTrace | None) -> None:
    where = f"episode of {trajectory.task_id}, turn {number + 1}"
    if trace is None:
        raise UsageError(
            f"{where}: the action of policy {trajectory.policy!r} has no tokens, so it cannot be "
            "trained on; use a policy that samples them itself (hf:PATH)"
        )
    if not trace.prompt_ids:
        raise UsageError(f"{where}: an action without a prompt")
    if len(trace.completion_ids) != len(trace.logprobs):
        raise UsageError(
            f"{where}: {len(trace.completion_ids)} tokens with {len(trace.logprobs)} "
            "log-probabilities; the engine must give one for each"
        )
