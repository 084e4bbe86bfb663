"""Task samplers, and from a name to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Final, cast

from codegym import plugins
from codegym.curriculum.samplers.base import Sampler
from codegym.errors import UsageError
from codegym.types import TaskSampler

_SIMPLE: Final = "codegym.curriculum.samplers.simple"
BUILTIN: Final[Mapping[str, str]] = {
    "frontier_hybrid": "codegym.curriculum.samplers.hybrid:FrontierHybrid",
    "uniform": f"{_SIMPLE}:Uniform",
    "easy_to_hard": f"{_SIMPLE}:EasyToHard",
    "adarft": f"{_SIMPLE}:AdaRft",
    "mopps": f"{_SIMPLE}:Mopps",
    "sfl": f"{_SIMPLE}:Sfl",
    "plr": f"{_SIMPLE}:Plr",
}
_METHODS: Final = ("sample", "observe", "state_dict", "load_state_dict", "metrics")


def load_sampler(
    name: str, options: Mapping[str, str], *, seed: int = 0, category: str = "environment"
) -> TaskSampler:
    """Make a task sampler.

    Args:
        name: A built-in name, a plug-in's, or ``module:attr``.
        options: Its options as text, validated by its own dataclass.
        seed: For a sampler that has an option of that name, which is not given.
        category: What the built-in ones keep skills for.

    Raises:
        NotFoundError: No such sampler or option.
        UsageError: An option's value is wrong, or what the name stands for is no sampler.
    """
    found = plugins.load("task_samplers", name, BUILTIN)
    if not isinstance(found, type):
        raise UsageError(f"{name!r} is no task sampler: it is no class")
    seeded = is_dataclass(found) and "seed" in {each.name for each in fields(found) if each.init}
    given = {"seed": str(seed), **options} if seeded else options
    sampler: object = plugins.configure(found, given)
    missing = [method for method in _METHODS if not callable(getattr(sampler, method, None))]
    if missing:
        raise UsageError(
            f"{name!r} is no task sampler: it has no {', '.join(missing)} "
            "(see codegym.types.TaskSampler)"
        )
    if isinstance(sampler, Sampler):
        sampler.model.category = category
    return cast("TaskSampler", sampler)
