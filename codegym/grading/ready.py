"""A task with all that its sandboxes and its grade need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from codegym.grading.scene import Scene
from codegym.tasks import Environment, Suite
from codegym.types import WORKSPACE, Image, Runner, SandboxSpec, Task
from codegym.workspace.prepare import Prepared


@dataclass(frozen=True)
class Ready:
    """A task made ready.

    Attributes:
        task: The row, as it is presented; ``hidden`` has all that are not in the workspace, too.
        environment: Whose it is.
        suite: The suite that has its tests.
        image: What its sandboxes start from.
        prepared: Its layers and trees.
        runner: Runs the suite.
    """

    task: Task
    environment: Environment
    suite: Suite
    image: Image
    prepared: Prepared
    runner: Runner

    @cached_property
    def scene(self) -> Scene:
        """What changes are judged from."""
        trees = self.prepared.start_tree, self.prepared.grading_tree
        return Scene.of(self.environment, self.suite, *trees)

    @property
    def prefix(self) -> str:
        """What comes before a path of the project in one of the repository: ``services/api/``."""
        return "" if self.environment.subdir == "." else f"{self.environment.subdir}/"

    @property
    def start_spec(self) -> SandboxSpec:
        """The policy's sandbox."""
        return SandboxSpec(
            image=self.image,
            workspace=self.prepared.start,
            limits=self.environment.limits,
            files=self.runner.payload(),
        )

    @property
    def grading_spec(self) -> SandboxSpec:
        """The sandbox of a grade: the same, over the trusted tree."""
        return SandboxSpec(
            image=self.image,
            workspace=self.prepared.grading,
            limits=self.environment.limits,
            files=self.runner.payload(),
        )


def project_root(environment: Environment) -> str:
    """The project's folder inside a sandbox."""
    return WORKSPACE if environment.subdir == "." else f"{WORKSPACE}/{environment.subdir}"
