"""Ties environment, image, workspace, sandbox and grading together, for one event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from codegym.errors import TaskError
from codegym.grading.grader import grade
from codegym.grading.observe.keeper import Recordings
from codegym.grading.observe.recording import Recording
from codegym.grading.observe.staleness import by_siblings_alone
from codegym.grading.ready import Ready
from codegym.grading.runners import suite_runner
from codegym.grading.services import start_services
from codegym.grading.trace import scan
from codegym.sandbox import backends
from codegym.sandbox.base import Backend, Sandbox, Telling
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.tasks import Environment
from codegym.tasks.sources import environment as environment_named
from codegym.types import (
    Grade,
    Image,
    Manifest,
    SandboxSpec,
    Tampering,
    Task,
    Trajectory,
    Tree,
)
from codegym.workspace.hiding import unseen_tests
from codegym.workspace.prepare import Workshop
from codegym.workspace.seal import LayerSeals

__all__ = ["Ready", "Setting"]

_REMEMBERED = 256


def _silent(_: str) -> None:
    """Say nothing."""


class Setting:
    """Makes tasks ready, starts their sandboxes and grades work. One for each event loop.

    Args:
        backend: Starts the sandboxes; closed with the setting.
        store: Where layers are kept; the backend's. By default the user's.
        root: Overrides every environment's ``image.root``, unless it is ``""``.
        progress: Told, in words, what takes time.
    """

    #: Whether a task's siblings are looked for as soon as somebody works on it.
    foresees = True

    def __init__(
        self,
        backend: Backend,
        *,
        store: LayerStore | None = None,
        root: str = "",
        progress: Callable[[str], None] = _silent,
    ) -> None:
        if isinstance(backend, Telling):
            backend.tell(progress)
        self.backend = backend
        self._root = root
        self._store = store or LayerStore()
        self._progress = progress
        self._workshop = Workshop(self._store, backend.owner)
        self._seals = LayerSeals()
        self._ready: OrderedDict[object, asyncio.Future[Ready]] = OrderedDict()
        self._images: dict[str, asyncio.Future[Image]] = {}
        self._recordings = Recordings(backend, self._store)

    @classmethod
    def on(cls, sandbox: str, *, progress: Callable[[str], None] = _silent) -> Self:
        """A setting over the backend of a name, or of ``NAME+dockerfile``.

        The latter's sandboxes start from what the environments' Dockerfiles make. Raises what
        ``backends.pick`` raises.
        """
        name, root = backends.split(sandbox)
        return cls(backends.pick(name), root=root, progress=progress)

    async def ready(self, task: Task, environment: Environment | None = None) -> Ready:
        """Make a task ready: at once where that was done before, and once for all who ask.

        What is remembered is attested again each time, cheaply (see ``Workshop.prepare``), and the
        image's layers are looked at, too.

        Args:
            task: The row, as it is presented.
            environment: Its environment, where it is not to be found by its name.

        Raises:
            NotFoundError: There is no such environment or suite.
            TaskError: The task is broken, or a trace of the answer was found in its layers.
            DataError: The environment is broken.
            UnavailableError: This machine lacks something, or an image was changed on the disk.
            SandboxError: The sandbox that an image is built in broke.
        """
        future = self.ahead(task, environment)
        if not future.done():
            return await asyncio.shield(future)
        made = future.result()
        self._seals.check(made.image.layers)
        prepared = self._workshop.prepare(task, made.environment)
        return made if prepared is made.prepared else replace(made, prepared=prepared)

    def ahead(self, task: Task, environment: Environment | None = None) -> asyncio.Future[Ready]:
        """Begin to make a task ready, without waiting; a failure is raised by ``ready``."""
        key = _key(task, environment)
        future = self._ready.get(key)
        if future is None or (future.done() and _failed(future)):
            future = asyncio.ensure_future(self._make(task, environment))
            future.add_done_callback(_failed)  # one that nobody waits for is no stray
            self._ready[key] = future
        self._ready.move_to_end(key)
        while len(self._ready) > _REMEMBERED and next(iter(self._ready.values())).done():
            self._ready.popitem(last=False)
        return future

    async def _make(self, task: Task, environment: Environment | None) -> Ready:
        home = environment
        if home is None:
            home = await asyncio.to_thread(environment_named, task.environment)
        if self._root:
            home = replace(home, image=replace(home.image, root=self._root))
        suite = home.suite(task.suite)
        prepared = await asyncio.to_thread(self._workshop.prepare, task, home)
        # Commands of the environment see the policy's tree: the answer is in no layer.
        tree = prepared.start_tree if home.image.install or home.image.build else None
        image = await self._image(home, prepared.digest if tree else "", tree)
        self._seals.check(image.layers)
        unseen = unseen_tests(task, prepared.start_tree, prepared.grading_tree, home.subdir)
        shown = replace(task, hidden=task.hidden | unseen) if unseen else task
        return Ready(shown, home, suite, image, prepared, suite_runner(suite))

    async def _image(self, home: Environment, variant: str, tree: Tree | None) -> Image:
        key = f"{home.digest} {variant}"
        future = self._images.get(key)
        if future is None or (future.done() and _failed(future)):
            building = build_image(
                home, self.backend, store=self._store, tree=tree, progress=self._progress
            )
            future = self._images[key] = asyncio.ensure_future(building)
            future.add_done_callback(_failed)
        return await asyncio.shield(future)

    async def start(self, ready: Ready, spec: SandboxSpec | None = None) -> Sandbox:
        """Start a policy's sandbox, with the services its environment needs.

        Args:
            ready: The task.
            spec: In place of ``ready.start_spec``, as where there is a way out.

        Raises:
            SandboxError: It did not start. ``TaskError``: a service of the environment did not.
        """
        box = await self._served(ready, await self.backend.start(spec or ready.start_spec))
        if self.foresees:
            self._recordings.soon(ready, box)  # a grade will follow
        return box

    async def fork(self, ready: Ready, box: Sandbox) -> Sandbox:
        """A second sandbox with the same files, directory and variables, and fresh services."""
        return await self._served(ready, await box.fork())

    async def _served(self, ready: Ready, box: Sandbox) -> Sandbox:
        if not ready.environment.services:
            return box
        try:
            problem = await start_services(box, ready.environment)
            if problem:
                raise TaskError(ready.task.instance_id, problem)
        except BaseException:
            await box.stop()
            raise
        return box

    async def grade(
        self,
        ready: Ready,
        work: Manifest,
        trajectory: Trajectory | None = None,
        *,
        brief: bool = False,
    ) -> Grade:
        """Grade a policy's work in a fresh sandbox.

        The first grade of all tasks with one solved tree waits for what its tests see there. Where
        only siblings speak against the work, the solved tree is asked them again.

        Args:
            ready: The task.
            work: What ``Sandbox.collect`` read.
            trajectory: Where given, the grade also lists what was looked for in vain.
            brief: Whether only the score matters. Work that fails a test as it is written is then
                graded by that alone: nothing is told of the siblings, ``assurance`` is the runner's
                own, hidden tests say nothing, and where one test failed, those after it may be cut
                off.

        Raises:
            SandboxError: The infrastructure broke: no verdict, never a score of 0.
            UnavailableError: The layer that it is graded in was changed on the disk.
        """
        attempts: tuple[Tampering, ...] = ()
        if trajectory:  # long commands take long to read, and other episodes go on
            attempts = await asyncio.to_thread(scan, trajectory, ready.scene.package_names)
        if brief:
            found = await grade(self.backend, ready, work, attempts, brief=True)
            if found.score == 0.0:
                return _without_hidden(found, ready.task)
        observation = await self._recordings.observation(ready)
        if observation is None:
            return found if brief else await grade(self.backend, ready, work, attempts)
        self._seals.check([observation.workspace])
        found = await grade(self.backend, ready, work, attempts, observation)
        if not by_siblings_alone(found):
            return found
        true = await self._recordings.still_true(ready, observation.recording)
        if true is observation.recording:
            return found
        return await grade(
            self.backend, ready, work, attempts, replace(observation, recording=true)
        )

    async def recording(self, ready: Ready) -> Recording | None:
        """What a task's tests see on its solved tree; None where its runner cannot observe.

        Raises:
            SandboxError: The infrastructure broke while it was made.
        """
        return await self._recordings.of(ready)

    async def close(self) -> None:
        """Stop everything. Idempotent."""
        await self._recordings.close()
        futures: list[asyncio.Future[Any]] = [*self._ready.values(), *self._images.values()]
        unfinished = [future for future in futures if not future.done()]
        for future in unfinished:
            future.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        self._ready.clear()
        self._images.clear()
        await self.backend.close()


def _without_hidden(found: Grade, task: Task) -> Grade:
    """What is asserted of a hidden test is not told; an observed grade has no such thing."""
    outcomes = [
        replace(one, message="") if one.id in task.hidden else one for one in found.outcomes
    ]
    return replace(found, outcomes=tuple(outcomes))


def _failed(future: asyncio.Future[Any]) -> bool:
    """Whether it came to nothing; asking counts as having seen the exception."""
    return future.cancelled() or future.exception() is not None


def _key(task: Task, environment: Environment | None) -> object:
    """What makes two rows the same to a sandbox, a grade and its text."""
    return (
        task.instance_id,
        task.environment,
        environment.digest if environment else "",
        task.base_commit,
        task.start_patch,
        task.test_patch,
        task.patch,
        task.kind,
        task.problem_statement,
        task.hints_text,
        task.suite,
        task.test_ids,
        task.hidden,
    )
