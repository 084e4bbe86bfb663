"""One episode in the shapes that other trainers take. Pure; no framework is imported.

Each is made of the tokens that were sampled, never of text encoded again. The fields have the
names of the frameworks', so ``asdict`` gives the keyword arguments of theirs. Where a context was
full an episode is several sequences (``sequences``): a shape of one sequence is then given for
each, with the episode's reward.

The shapes follow TRL 1.16, verl 0.9, SkyRL 0.3, verifiers 0.4 (v1) and ART 0.5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from codegym.agents.chat.messages import answer, parse_call
from codegym.errors import UsageError
from codegym.types import EpisodeResult, Trajectory, Turn


@dataclass(frozen=True, slots=True)
class Part:
    """One turn's tokens within a sequence.

    Attributes:
        turn: The turn's number, from 0.
        given: What the model was given since the part before (at first, all of the prompt).
        said: What it sampled.
        logprobs: Of ``said``, the sampler's.
    """

    turn: int
    given: tuple[int, ...]
    said: tuple[int, ...]
    logprobs: tuple[float, ...]


def sequences(trajectory: Trajectory) -> tuple[tuple[Part, ...], ...]:
    """The token sequences of an episode: a turn whose prompt does not go on begins another.

    Raises:
        UsageError: An action has no tokens: its policy is none that samples them.
    """
    found: list[list[Part]] = []
    before: tuple[int, ...] = ()
    for number, turn in enumerate(trajectory.turns):
        trace = turn.action.tokens
        if trace is None and turn.action.text:
            raise UsageError(
                f"episode of {trajectory.task_id}, turn {number + 1}: an action without tokens; "
                "use a policy that samples them itself (hf:PATH)"
            )
        if trace is None or not trace.completion_ids:
            continue  # cut off, or submitted by the policy itself: nothing was sampled
        goes_on = bool(found) and trace.prompt_ids[: len(before)] == before
        if not goes_on:
            found.append([])
        given = trace.prompt_ids[len(before) :] if goes_on else trace.prompt_ids
        found[-1].append(Part(number, given, trace.completion_ids, trace.logprobs))
        before = trace.prompt_ids + trace.completion_ids
    return tuple(tuple(parts) for parts in found)


@dataclass(frozen=True, slots=True)
class TrlRow:
    """What a TRL ``rollout_func`` returns, for one row.

    Attributes:
        prompt_ids: Up to the first sampled token.
        completion_ids: All after that.
        logprobs: As long; 0.0 where ``env_mask`` is 0.
        env_mask: 1 where the model wrote the token.
        reward: The episode's.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]
    env_mask: list[int]
    reward: float


def to_trl(trajectory: Trajectory) -> list[TrlRow]:
    """TRL's rows, one for each sequence."""
    earned = _earned(trajectory)
    return [TrlRow(*_flat(parts), earned) for parts in sequences(trajectory)]


@dataclass(frozen=True, slots=True)
class VerlOutput:
    """verl's ``AgentLoopOutput``.

    Attributes:
        response_mask: 1 for sampled tokens, 0 for what tools answered.
        num_turns: Messages in all: the user's, the model's and the tools'.
        metrics: Keyword arguments of ``AgentLoopMetrics``.
        extra_fields: The task's id and the sequence's number.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    response_logprobs: list[float]
    reward_score: float
    num_turns: int
    metrics: dict[str, float]
    extra_fields: dict[str, Any]


def to_verl(trajectory: Trajectory) -> list[VerlOutput]:
    """Outputs of verl, one for each sequence."""
    found = []
    for number, parts in enumerate(sequences(trajectory)):
        prompt, response, logprobs, mask = _flat(parts)
        seconds = sum(trajectory.turns[part.turn].seconds for part in parts)
        found.append(
            VerlOutput(
                prompt,
                response,
                mask,
                logprobs,
                _earned(trajectory),
                2 * len(parts),
                {"tool_calls": seconds},
                {"task_id": trajectory.task_id, "sequence": number},
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class SkyRlOutput:
    """SkyRL's ``GeneratorOutput``: lists with an item for each sequence of all episodes.

    Attributes:
        rewards: The episode's.
        stop_reasons: ``"stop"`` where the episode ended itself, else ``"length"``.
        is_last_step: Whether it is its episode's last sequence (for step-wise training).
        rollout_metrics: Means over episodes.
    """

    prompt_token_ids: list[list[int]] = field(default_factory=list)
    response_ids: list[list[int]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    loss_masks: list[list[int]] = field(default_factory=list)
    stop_reasons: list[str] = field(default_factory=list)
    rollout_logprobs: list[list[float]] = field(default_factory=list)
    is_last_step: list[bool] = field(default_factory=list)
    rollout_metrics: dict[str, float] = field(default_factory=dict)


def to_skyrl(trajectories: Sequence[Trajectory]) -> SkyRlOutput:
    """SkyRL's output of a batch, in order."""
    made = SkyRlOutput()
    for trajectory in trajectories:
        rows = to_trl(trajectory)
        for number, row in enumerate(rows):
            made.prompt_token_ids.append(row.prompt_ids)
            made.response_ids.append(row.completion_ids)
            made.rewards.append(row.reward)
            made.loss_masks.append(row.env_mask)
            made.stop_reasons.append("stop" if trajectory.terminated else "length")
            made.rollout_logprobs.append(row.logprobs)
            made.is_last_step.append(number == len(rows) - 1)
    count = max(1, len(trajectories))
    made.rollout_metrics["codegym/reward"] = sum(map(_earned, trajectories)) / count
    made.rollout_metrics["codegym/steps"] = sum(len(each.turns) for each in trajectories) / count
    return made


@dataclass(frozen=True, slots=True)
class VerifiersNode:
    """A ``MessageNode`` of verifiers' message graph; from a root on, tokens add up to a sequence.

    Attributes:
        parent: Index of the node before, or None.
        message: Role and content, in verifiers' form.
        sampled: Whether the model wrote it.
        token_ids: What it adds.
        mask: True for sampled tokens, as long as ``token_ids``.
        logprobs: Of the sampled tokens.
    """

    parent: int | None
    message: dict[str, Any]
    sampled: bool
    token_ids: list[int]
    mask: list[bool]
    logprobs: list[float]


def to_verifiers(trajectory: Trajectory) -> list[VerifiersNode]:
    """The graph of verifiers: a branch for each sequence."""
    nodes: list[VerifiersNode] = []
    for parts in sequences(trajectory):
        parent = None
        for part in parts:
            given = _asked(trajectory, part.turn, first=parent is None)
            unseen = [False] * len(part.given)
            nodes.append(VerifiersNode(parent, given, False, list(part.given), unseen, []))
            content, called = _said(trajectory.turns[part.turn])
            said: dict[str, Any] = {"role": "assistant", "content": content}
            if called is not None:
                made = {"id": _call_id(part.turn), "name": called[0], "arguments": called[1]}
                said["tool_calls"] = [made]
            sampled, logprobs = [True] * len(part.said), list(part.logprobs)
            nodes.append(
                VerifiersNode(len(nodes) - 1, said, True, list(part.said), sampled, logprobs)
            )
            parent = len(nodes) - 1
    return nodes


@dataclass(frozen=True, slots=True)
class ArtTrajectory:
    """ART's ``Trajectory``.

    Attributes:
        messages_and_choices: Messages, and for the model's turns ``Choice`` objects as dicts, with
            each token as ``"token_id:N"`` beside its log-probability.
        tools: The tools in the form that chat models take.
    """

    messages_and_choices: list[dict[str, Any]]
    reward: float
    metrics: dict[str, float]
    metadata: dict[str, str]
    tools: list[dict[str, Any]]


def to_art(result: EpisodeResult, tools: Sequence[Mapping[str, Any]] = ()) -> list[ArtTrajectory]:
    """ART's trajectories, one for each sequence; ART renders the messages by its own template."""
    trajectory, made = result.trajectory, []
    grade = result.grade
    metrics = {"steps": float(len(trajectory.turns)), "seconds": result.seconds}
    metrics |= {"solved": float(grade.solved)} if grade else {}
    for parts in sequences(trajectory):
        listed: list[dict[str, Any]] = []
        for place, part in enumerate(parts):
            listed.append(_asked(trajectory, part.turn, first=place == 0))
            listed.append(_choice(trajectory.turns[part.turn], part))
        made.append(
            ArtTrajectory(
                listed,
                result.reward,
                metrics,
                {"task_id": trajectory.task_id, "policy": trajectory.policy},
                [dict(tool) for tool in tools],
            )
        )
    return made


def arguments(shape: TrlRow | VerlOutput | SkyRlOutput | VerifiersNode | ArtTrajectory) -> Any:
    """A shape as the keyword arguments of the framework's own class."""
    return asdict(shape)


# Their parts


def _earned(trajectory: Trajectory) -> float:
    return sum(turn.reward for turn in trajectory.turns)


def _flat(parts: Sequence[Part]) -> tuple[list[int], list[int], list[float], list[int]]:
    """Prompt, everything after it, its log-probabilities, and 1 where the model wrote it."""
    ids: list[int] = []
    logprobs: list[float] = []
    mask: list[int] = []
    for place, part in enumerate(parts):
        given = part.given if place else ()
        ids += [*given, *part.said]
        logprobs += [0.0] * len(given) + list(part.logprobs)
        mask += [0] * len(given) + [1] * len(part.said)
    return list(parts[0].given), ids, logprobs, mask


def _asked(trajectory: Trajectory, number: int, *, first: bool) -> dict[str, Any]:
    """The message before a turn: the task, or what came of the turn before."""
    if first:
        return {"role": "user", "content": trajectory.first.instruction}
    before = trajectory.turns[number - 1]
    content = answer(before, before.observation.output)
    if parse_call(before.action.text) is None:
        return {"role": "user", "content": content}
    return {"role": "tool", "tool_call_id": _call_id(number - 1), "content": content}


def _said(turn: Turn) -> tuple[str, tuple[str, str] | None]:
    """A turn's text, and its call where there is one: name and arguments as JSON."""
    called = parse_call(turn.action.text)
    if called is None:
        return turn.action.text, None
    name, given = called
    return turn.action.thought, (name, json.dumps(given, ensure_ascii=False))


def _choice(turn: Turn, part: Part) -> dict[str, Any]:
    """A chat completion's choice, with each token's id in the place of its text."""
    tokens: list[dict[str, Any]] = [
        {"token": f"token_id:{token}", "logprob": logprob, "bytes": None, "top_logprobs": []}
        for token, logprob in zip(part.said, part.logprobs, strict=True)
    ]
    content, called = _said(turn)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if called is not None:
        function = {"name": called[0], "arguments": called[1]}
        made = {"id": _call_id(part.turn), "type": "function", "function": function}
        message["tool_calls"] = [made]
    return {
        "index": 0,
        "finish_reason": "stop" if called is None else "tool_calls",
        "message": message,
        "logprobs": {"content": tokens, "refusal": None},
    }


def _call_id(number: int) -> str:
    return f"call{number:05}"
