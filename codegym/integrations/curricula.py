"""CodeGym's task samplers where other libraries choose tasks: prime-rl's runs and Syllabus's.

prime-rl's ``Curriculum.sampler`` may be a ``PrimeSampler``. For Syllabus, ``syllabus_curriculum``
goes into its wrappers of curricula, and ``syllabus_env`` into those of environments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codegym.curriculum.outcomes import Outcome, as_group
from codegym.errors import UsageError
from codegym.integrations.extras import require_extra
from codegym.types import Task, TaskSampler

if TYPE_CHECKING:
    import gymnasium
    from syllabus.core import Curriculum, TaskWrapper

_WON = 1.0  # a reward, or a share of completion, that means solved


class PrimeSampler:
    """What prime-rl calls a ``TaskSampler``: an iterator without an end that learns from groups.

    An episode counts as solved where its reward is 1, which is what a grade gives.

    Args:
        sampler: Chooses.
        pool: CodeGym's tasks.
        tasks: The same tasks as prime-rl has them: the ``key`` of each is an ``instance_id``.

    Raises:
        UsageError: A task of the pool is not among ``tasks``, or there is none.
    """

    def __init__(self, sampler: TaskSampler, pool: Sequence[Task], tasks: Iterable[Any]) -> None:
        self._sampler = sampler
        self._pool = {task.instance_id: task for task in pool}
        self._tasks = {task.key: task for task in tasks}
        self._order = list(pool)
        absent = [name for name in self._pool if name not in self._tasks]
        if absent or not pool:
            raise UsageError(
                f"no task of prime-rl's has the key {absent[0]!r}" if absent else "there is no task"
            )

    def __iter__(self) -> PrimeSampler:
        return self

    def __next__(self) -> Any:
        """The next task, as prime-rl has it."""
        (task,) = self._sampler.sample(self._order, 1)
        return self._tasks[task.instance_id]

    def observe(self, group: Sequence[Any]) -> None:
        """Learn from a group of prime-rl's episodes of one task; what failed is no evidence."""
        won = [
            trace.reward >= _WON
            for episode in group
            if episode.ok
            for trace in episode.traces
            if not trace.has_error and trace.agent.trainable and trace.num_turns > 0
        ]
        if won:
            _tell(self._sampler, self._pool[group[0].task.key], won)

    def state_dict(self) -> dict[str, Any]:
        """All state, as JSON values."""
        return self._sampler.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what ``state_dict`` gave."""
        self._sampler.load_state_dict(state)

    def metrics(self) -> dict[str, float]:
        """Numbers worth plotting."""
        return self._sampler.metrics()


def syllabus_curriculum(sampler: TaskSampler, pool: Sequence[Task], **options: Any) -> Curriculum:
    """A curriculum of Syllabus's that a sampler of ours decides.

    It learns from the end of each episode: solved is a progress of 1, as ``syllabus_env`` says it.

    Args:
        sampler: Chooses.
        pool: The tasks; Syllabus's task space holds their ids.
        **options: Of Syllabus's ``Curriculum``.

    Raises:
        UnavailableError: ``syllabus-rl`` is not installed.
        UsageError: There is no task.
    """
    require_extra("syllabus", "syllabus")
    from syllabus.core import Curriculum
    from syllabus.task_space import DiscreteTaskSpace

    if not pool:
        raise UsageError("there is no task")
    order = list(pool)
    places = {task.instance_id: place for place, task in enumerate(order)}

    class Sampled(Curriculum):  # type: ignore[misc]
        def sample(self, k: int = 1) -> list[int]:
            return [places[task.instance_id] for task in sampler.sample(order, k)]

        def update_on_episode(
            self,
            episode_return: float,
            length: int,
            task: int,
            progress: float,
            env_id: int | None = None,
        ) -> None:
            super().update_on_episode(episode_return, length, task, progress, env_id)
            _tell(sampler, order[task], [float(progress) >= _WON])

    return Sampled(DiscreteTaskSpace(len(order), list(places)), **options)


def syllabus_env(env: gymnasium.Env[Any, Any]) -> TaskWrapper:
    """An env of ours as Syllabus wants one: a task is an id, and complete where it was solved.

    Raises:
        UnavailableError: ``syllabus-rl`` is not installed.
    """
    require_extra("syllabus", "syllabus")
    from syllabus.core import TaskWrapper

    class Chosen(TaskWrapper):  # type: ignore[misc]
        task: str | None

        def reset(self, new_task: str | None = None, **given: Any) -> tuple[Any, dict[str, Any]]:
            self.change_task(self.task if new_task is None else new_task)
            if self.task is not None:
                given["options"] = {**(given.get("options") or {}), "task_id": self.task}
            observation, info = self.env.reset(**given)
            self.task = info["task_id"]
            return observation, {**info, "task": self.task, "task_completion": 0.0}

        def _task_completion(
            self,
            obs: object,  # noqa: ARG002
            rew: float,  # noqa: ARG002
            term: bool,  # noqa: ARG002
            trunc: bool,  # noqa: ARG002
            info: Mapping[str, Any],
        ) -> float:
            grade = info["grade"]
            return float(grade is not None and grade.solved)

    return Chosen(env)


def _tell(sampler: TaskSampler, task: Task, won: Sequence[bool]) -> None:
    sampler.observe(as_group(Outcome(task.instance_id, sum(won), len(won)), task))
