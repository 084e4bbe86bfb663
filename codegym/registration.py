"""Gymnasium's ids, and how an env gets its tasks.

Importing this registers the ids and loads nothing of CodeGym's: the entry points are strings, and
what they name is imported when an env is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.envs import registration as gymnasium

from codegym.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from codegym.envs.gym_env import CodeGymEnv
    from codegym.envs.vector_env import CodeGymVectorEnv
    from codegym.types import TaskSource

#: Each id and the kind it presents tasks as; ``"Tasks"`` follows each row's own.
IDS: Mapping[str, str] = {
    "CodeGym/FixTests-v0": "FixTests",
    "CodeGym/FixIssue-v0": "FixIssue",
    "CodeGym/ImplementFeature-v0": "ImplementFeature",
    "CodeGym/Tasks-v0": "Tasks",
}
#: Repair by choosing one of many edits: actions and observations are numbers, as Stable-Baselines3
#: and the like want them.
CANDIDATE_EDITS = "CodeGym/CandidateEdits-v0"


def register() -> None:
    """Make the ids known to Gymnasium. Idempotent."""
    for env_id, kind in IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="codegym.registration:make_env",
                vector_entry_point="codegym.registration:make_vector_env",
                nondeterministic=True,  # the output and timing of commands are not promised
                kwargs={"kind": kind},
            )
    if CANDIDATE_EDITS not in gymnasium.registry:
        gymnasium.register(
            id=CANDIDATE_EDITS,
            entry_point="codegym.integrations.sb3.env:CandidateEdits",
            nondeterministic=True,
        )


def kind_of(env_id: str) -> str:
    """The kind that an id presents tasks as.

    Raises:
        NotFoundError: No such id.
    """
    if env_id not in IDS:
        raise NotFoundError("env", env_id, IDS, hint=f"there are: {', '.join(IDS)}")
    return IDS[env_id]


def resolve(tasks: str | None) -> TaskSource:
    """The task source that a name stands for.

    Args:
        tasks: The name of an environment or pack, ``PATH.jsonl``, ``curriculum:PATH.toml`` (or the
            name of a bundled curriculum), or None for all bundled tasks in Python.

    Raises:
        UsageError: No such name, or a form that this version has not.
        DataError: A file of it is wrong.
    """
    from codegym.tasks import sources

    scheme, _, path = (tasks or "").partition(":")
    if scheme == "curriculum":
        from codegym.curriculum import open_curriculum

        return open_curriculum(path)
    return sources.resolve(tasks)


def make_env(*, kind: str, tasks: TaskSource | str | None = None, **options: Any) -> CodeGymEnv:
    """What ``gymnasium.make`` calls: see ``CodeGymEnv`` for the options.

    ``tasks`` is a name, so that the env's spec can be written as JSON; a source is taken too.
    """
    from codegym.envs.gym_env import CodeGymEnv

    return CodeGymEnv(tasks=_source(tasks), kind=kind, **options)


def make_vector_env(
    *, kind: str, num_envs: int = 1, tasks: TaskSource | str | None = None, **options: Any
) -> CodeGymVectorEnv:
    """What ``gymnasium.make_vec`` calls by default: see ``CodeGymVectorEnv`` for the options."""
    from codegym.envs.vector_env import CodeGymVectorEnv

    return CodeGymVectorEnv(num_envs, tasks=_source(tasks), kind=kind, **options)


def _source(tasks: TaskSource | str | None) -> TaskSource:
    if tasks is None or isinstance(tasks, str):
        return resolve(tasks)
    if not all(hasattr(tasks, name) for name in ("sample", "get", "digest", "__iter__")):
        raise UsageError(
            "tasks: expected the name of an environment or pack, PATH.jsonl, None or a TaskSource, "
            f"got {tasks!r}"
        )
    return tasks
