"""One episode as TRL's environment: a class whose methods are the tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from codegym.envs.episode import Episode
from codegym.envs.gym_env import learn, step_to_float
from codegym.envs.session import Session
from codegym.errors import TaskError
from codegym.integrations.trl.data import Tasks
from codegym.types import call

_OVER = "The episode is over; nothing more is done."
_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class CodeGym:
    """An episode of one task, and the next one after another ``reset``. Starts no sandbox before.

    A subclass with a method for each tool is what ``factory`` makes.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._session = Session(tasks.sandbox)
        self._episode: Episode | None = None
        self._episodes = 0

    def reset(self, task_id: str, **_: Any) -> str:
        """Begin the episode of a row.

        Returns:
            What is asked; TRL adds it to the prompt. Where the task is broken, that it is.
        """
        self._episodes += 1
        seed = self._tasks.seed + self._episodes
        return self._session.run(self._reset(task_id, seed))

    async def _reset(self, task_id: str, seed: int) -> str:
        if self._episode is None:
            self._episode = Episode(await self._session.setting(), self._tasks.how)
        try:
            first = await self._episode.reset(self._tasks.source.get(task_id), seed=seed)
        except TaskError as error:  # no evidence: it has no reward
            return f"This task cannot be played: {error}"
        return first.instruction

    def get_reward(self) -> float | None:
        """The episode's reward; None, which TRL leaves out, where it was faulty."""
        episode = self._episode
        if episode is None or (not episode.ended and not episode.history.task_id):
            return None
        if not episode.ended:  # the model stopped calling tools: what it has done is graded
            self._session.run(step_to_float(episode, call("submit")))
        learn(self._tasks.source, episode)
        return None if episode.fault else sum(turn.reward for turn in episode.history.turns)

    def _take(self, tool: str, arguments: Mapping[str, Any]) -> str:
        episode = self._episode
        if episode is None or episode.ended or not episode.history.task_id:
            return _OVER
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._session.run(step_to_float(episode, call(tool, **given)))
        return result.observation.output or ("Submitted." if result.ended else "(no output)")


def factory(tasks: Tasks) -> Callable[[], CodeGym]:
    """What makes environments for ``GRPOTrainer(environment_factory=…)``.

    TRL calls tools of different episodes one after another; ``rollouts`` plays them at the same
    time.
    """
    methods = {
        function["function"]["name"]: _method(function["function"])
        for function in tasks.how.toolbox.functions
    }
    made = type("CodeGym", (CodeGym,), methods)
    return lambda: made(tasks)


def _method(function: Mapping[str, Any]) -> Callable[..., str]:
    """A method with the signature and the docstring that TRL reads a tool from."""
    name, parameters = function["name"], function["parameters"]
    required = set(parameters.get("required", ()))
    typed = {
        key: _type(schema, optional=key not in required)
        for key, schema in parameters["properties"].items()
    }

    def method(self: CodeGym, **arguments: Any) -> str:
        return self._take(name, arguments)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [inspect.Parameter("self", kind)]
    for key in sorted(typed, key=lambda key: key not in required):
        default = inspect.Parameter.empty if key in required else None
        given.append(inspect.Parameter(key, kind, default=default, annotation=typed[key]))
    method.__name__ = method.__qualname__ = name
    method.__annotations__ = {**typed, "return": str}
    method.__signature__ = inspect.Signature(given, return_annotation=str)  # type: ignore[attr-defined]
    method.__doc__ = _docstring(function["description"], parameters["properties"])
    return method


def _type(schema: Mapping[str, Any], *, optional: bool) -> Any:
    kind: Any = _TYPES[schema.get("type", "string")]
    if kind is list:
        kind = list[_TYPES[schema.get("items", {}).get("type", "string")]]  # type: ignore[misc]
    return kind | None if optional else kind


def _docstring(description: str, properties: Mapping[str, Any]) -> str:
    lines = [" ".join(description.split()), "", "Args:"]
    for key, schema in properties.items():
        lines.append(f"    {key}: {' '.join(str(schema.get('description', key)).split())}")
    if not properties:
        lines = lines[:1]
    return "\n".join([*lines, "", "Returns:", "    What came of it."])
