"""Tasks, packs of tasks, and the environments that they belong to."""

from codegym.tasks.environment import (
    Edits,
    Environment,
    ImageSpec,
    Service,
    Suite,
    load_environment,
)

__all__ = [
    "Edits",
    "Environment",
    "ImageSpec",
    "Service",
    "Suite",
    "load_environment",
]
