"""What passes between a policy and an episode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from codegym.types.files import Manifest
from codegym.types.grade import Grade
from codegym.types.task import Task

Fault = Literal["", "sandbox", "task", "policy"]


@dataclass(frozen=True, slots=True)
class TokenTrace:
    """The tokens of one generated action.

    Attributes:
        prompt_ids: Token ids the engine was given.
        completion_ids: Token ids it sampled.
        logprobs: Natural-log probability of each sampled token under the sampler, same length.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an endpoint counted for one action, all its attempts together; each >= 0."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        text: A JSON tool call; all that an episode looks at.
        tokens: Its tokens, where a model sampled it.
        usage: Tokens as an endpoint counted them, where one was asked.
        thought: What the model said besides the call.
        note: What the policy did of its own accord: what it left out of a full context, say.
        lost_sec: Wall time lost to what the policy depends on (an endpoint that had to be asked
            again), >= 0; an episode does not count it against the policy.
    """

    text: str
    tokens: TokenTrace | None = None
    usage: Usage | None = None
    thought: str = ""
    note: str = ""
    lost_sec: float = 0.0


def call(name: str, /, **arguments: Any) -> str:
    """Write an action: a JSON tool call.

    Args:
        name: A tool's name, for example ``"bash"``.
        **arguments: The tool's arguments; JSON values.

    Returns:
        ``{"name": name, "arguments": arguments}`` as one line of JSON.
    """
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a policy sees.

    Attributes:
        instruction: What is asked; the same throughout an episode.
        output: What the last action printed, cut in the middle (and said so); ``""`` at reset.
        steps_left: Actions left before truncation, >= 0.
        last_exit_code: Exit status of the last action's command, 0 to 255; -1 where it ran none.
        failing: Shown tests that failed in the policy's own last ``run_tests``; -1 before.
            Untrusted.
        passing: Likewise, those that passed.
    """

    instruction: str
    output: str
    steps_left: int
    last_exit_code: int = -1
    failing: int = -1
    passing: int = -1


@dataclass(frozen=True, slots=True)
class Attestation:
    """What a reset looked for in the sandbox's files, and how often it found it.

    ``found`` holds counts only: no hash or size of an original file is ever in it.
    A reset with any count above 0 fails.
    """

    found: Mapping[str, int]

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self.found.values())


@dataclass(frozen=True, slots=True)
class Info:
    """Gymnasium's ``info``, typed. Same fields always.

    Attributes:
        task_id: The task's ``instance_id``.
        kind: The kind it is presented as.
        env_digest: Digest of the image and the start tree.
        steps: Actions taken.
        fault: ``"sandbox"`` or ``"task"`` where the episode failed through no doing of the policy
            (``"policy"``, where what a policy depends on failed, is known to rollouts alone).
        attestation: What the reset looked for.
        integrity: Number of tamperings a grade found; 0 before the grade.
        grade: The grade, once the episode ended; else None.
    """

    task_id: str
    kind: str
    env_digest: str
    steps: int
    fault: Fault
    attestation: Attestation
    integrity: int
    grade: Grade | None

    def as_dict(self) -> dict[str, Any]:
        """The dict Gymnasium's API returns; ``attestation`` as a dict, ``grade`` as the object."""
        return {
            "task_id": self.task_id,
            "kind": self.kind,
            "env_digest": self.env_digest,
            "steps": self.steps,
            "fault": self.fault,
            "attestation": dict(self.attestation.found),
            "integrity": self.integrity,
            "grade": self.grade,
        }


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step returns, in Gymnasium's terms."""

    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    info: Info

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and what came of it."""

    action: Action
    observation: Observation
    reward: float
    seconds: float


@dataclass(frozen=True, slots=True)
class History:
    """All a policy is given: the first observation and the turns so far, nothing secret."""

    task_id: str
    tools: tuple[Mapping[str, Any], ...]
    first: Observation
    turns: tuple[Turn, ...] = ()
    seed: int = 0

    @property
    def last(self) -> Observation:
        """The newest observation."""
        return self.turns[-1].observation if self.turns else self.first


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What happened in one episode."""

    task_id: str
    policy: str
    seed: int
    first: Observation
    turns: tuple[Turn, ...] = ()
    terminated: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """One finished episode.

    Attributes:
        index: Its number in the run, from 0.
        task: The task.
        trajectory: What happened.
        grade: The verdict; None where the episode faulted.
        reward: Sum of the turns' rewards.
        fault: ``""``, or whose fault it was that there is no grade; such an episode is no evidence.
        error: The fault's message.
        diff: The policy's work as a unified diff, for display.
        work: The same as data, from which `codegym restore` makes a commit.
        reset_sec: Seconds of the reset.
        seconds: Seconds in all.
    """

    index: int
    task: Task
    trajectory: Trajectory
    grade: Grade | None
    reward: float
    fault: Fault = ""
    error: str = ""
    diff: str = ""
    reset_sec: float = 0.0
    seconds: float = 0.0
    attestation: Attestation = field(default_factory=lambda: Attestation({}))
    work: Manifest = field(default_factory=Manifest)
