"""Tasks as a data set of prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from codegym.agents.chat.prompt import system_prompt
from codegym.envs.kinds import choose_rows
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.integrations.extras import require_extra
from codegym.registration import kind_of, resolve
from codegym.types import TaskSource

if TYPE_CHECKING:
    from datasets import IterableDataset

_PREFIX = "Task "


@dataclass(frozen=True)
class Tasks:
    """What is trained on, as both halves of a training see it.

    Attributes:
        tasks: A task source; see ``codegym run --help``.
        env_id: Gymnasium id of their presentation.
        options: How episodes are played, besides the kind.
        sandbox: Name of a sandbox backend.
        seed: Of what is drawn, and of the episodes.
    """

    tasks: str | None = None
    env_id: str = "CodeGym/Tasks-v0"
    options: dict[str, Any] = field(default_factory=dict)
    sandbox: str = "auto"
    seed: int = 0

    @cached_property
    def how(self) -> EpisodeOptions:
        """The options, checked."""
        return EpisodeOptions(kind=kind_of(self.env_id), **self.options)

    @cached_property
    def source(self) -> TaskSource:
        """The tasks, those that cannot be presented so left out or refused."""
        return choose_rows(resolve(self.tasks), self.how.kind)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Draw without end: ``prompt`` and ``task_id``, and nothing that tells of a solution."""
        system = system_prompt(self.how.toolbox.functions, text_form=False)
        rng = np.random.default_rng(self.seed)
        while True:
            task_id = self.source.sample(rng).instance_id
            messages = [
                {"role": "system", "content": system},
                {"role": "user", "content": f"{_PREFIX}{task_id}\n\n"},
            ]
            yield {"prompt": messages, "task_id": task_id}


def dataset(tasks: Tasks) -> IterableDataset:
    """The prompts, drawn when they are asked for: what episodes came to is known by then.

    TRL repeats each row for a group, so that a group shares a task. There is no end: set
    ``max_steps``. The only columns are ``prompt`` and ``task_id``: each column reaches the
    environment, so a solution in one would too.

    Raises:
        UnavailableError: The library is not installed.
    """
    require_extra("trl", "datasets")
    from datasets import Features, IterableDataset, List, Value

    _ = tasks.source  # what is wrong with it is told now
    message = {"role": Value("string"), "content": Value("string")}
    features = Features({"prompt": List(message), "task_id": Value("string")})
    return IterableDataset.from_generator(tasks.rows, features=features)


def task_id_of(prompt: str | Sequence[dict[str, Any]]) -> str:
    """The task of one of the data set's prompts. Raises ``UsageError`` for another's."""
    content = prompt[-1]["content"] if prompt and not isinstance(prompt, str) else ""
    if not isinstance(content, str) or not content.startswith(_PREFIX):
        raise UsageError("a prompt that codegym.integrations.trl.dataset did not make")
    return content.removeprefix(_PREFIX).split("\n")[0]
