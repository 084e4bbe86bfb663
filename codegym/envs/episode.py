"""One episode: a policy's actions against a task, from the first observation to the grade.

Whose fault: whatever a policy does is scored. Infrastructure that fails is retried where nothing of
the policy's is lost; else the episode is faulty, ends truncated with reward 0.0 and is no evidence.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace

from codegym.envs import boxes, kinds, network
from codegym.envs.actions import Malformed, parse
from codegym.envs.checkpoint import Checkpoint, restore
from codegym.envs.log import Log, potential_after
from codegym.envs.options import EpisodeOptions
from codegym.envs.rewards import Shaped
from codegym.envs.workbench import Workbench
from codegym.errors import SandboxError, TaskError, UsageError
from codegym.grading.grader import run_tests
from codegym.grading.setting import Ready, Setting
from codegym.network.ways import Keeping, Way
from codegym.sandbox.base import Sandbox
from codegym.tasks.knobs import Knobs
from codegym.types import (
    Action,
    Attestation,
    Fault,
    Grade,
    History,
    Info,
    Manifest,
    Observation,
    StepResult,
    Task,
    TestOutcome,
    ToolResult,
    Trajectory,
)
from codegym.workspace.patch import apply_changes, diff_trees


class Episode:
    """An episode, and the next one after another ``reset``. Not safe for concurrent calls.

    Args:
        setting: Where sandboxes and grades come from; of the running event loop.
        options: How it is played.
        keeping: What is kept of what it asks of the network.

    Attributes:
        fault: ``""``, or whose fault it was that there is no grade.
        error: The fault's message.
        work: The policy's work as data, once the episode ended.
        final_grade: The verdict, once it ended without a fault.
        last_result: What the last step returned, or would have.
    """

    def __init__(
        self,
        setting: Setting,
        options: EpisodeOptions | None = None,
        keeping: Keeping | None = None,
    ) -> None:
        self.options = options or EpisodeOptions()
        self._setting, self._keeping = setting, keeping or Keeping()
        self._ready: Ready | None = None
        self._box: Sandbox | None = None
        self._way: Way | None = None
        self._forget()

    def _forget(self) -> None:
        """As before anything has happened."""
        self.fault: Fault = ""
        self.error = ""
        self.work = Manifest()
        self.final_grade: Grade | None = None
        self.last_result: StepResult | None = None
        self._ready = None
        self._log = Log.begin("", 0, "", 0, 0)
        self._started = 0.0
        self._potential, self._measured = 0.0, Manifest()

    # What is known of it

    @property
    def ended(self) -> bool:
        """Whether it is over, by its ending or by a fault."""
        return self._log.ended

    @property
    def task(self) -> Task:
        """The task, as it is presented. Raises ``UsageError`` before the first reset."""
        return self._known().task

    @property
    def attestation(self) -> Attestation:
        """What the reset looked for in the sandbox's files."""
        return self._known().prepared.attestation

    @property
    def left_sec(self) -> float:
        """Wall time before truncation."""
        return self._started + self.options.max_episode_sec - time.monotonic()

    @property
    def history(self) -> History:
        """What a policy is given."""
        log, functions = self._log, self.options.toolbox.functions
        return History(log.task_id, functions, log.first, tuple(log.turns), log.seed)

    @property
    def info(self) -> Info:
        """Gymnasium's ``info``, typed."""
        ready, grade = self._known(), self.final_grade
        return Info(
            task_id=ready.task.instance_id,
            kind=ready.task.kind,
            env_digest=_digest(ready),
            steps=len(self._log.turns),
            fault=self.fault,
            attestation=ready.prepared.attestation,
            integrity=len(grade.tampering) if grade else 0,
            grade=grade,
        )

    def trajectory(self, policy: str = "") -> Trajectory:
        """What happened, with the policy's version."""
        return self._log.trajectory(policy)

    def diff(self) -> str:
        """The work of an ended episode as a unified diff, for display."""
        start = self._known().prepared.start_tree
        return diff_trees(start, apply_changes(start, self.work.changes))

    # Life

    async def reset(self, task: Task, *, seed: int = 0) -> Observation:
        """Begin an episode in a fresh sandbox; what was before is closed.

        Args:
            task: The row; presented as ``options.kind``.
            seed: Recorded, and given to the policy; the episode itself draws nothing.

        Returns:
            The first observation: the same for the same row and options.

        Raises:
            UsageError: The row cannot be presented as this kind.
            SandboxError: No sandbox could be had, in several attempts.
            TaskError: The task is broken: it cannot be prepared, or a trace of the answer is left.
        """
        task = kinds.present(task, self.options.kind)
        # The old sandbox ends while the new one starts: neither waits for the other.
        closing = asyncio.ensure_future(boxes.stop(self._box, self._way))
        self._box = self._way = None
        self._forget()
        try:
            ready = await self._setting.ready(task)
            self._box, self._way = await boxes.persistently(
                lambda: boxes.start(self._setting, ready, self.options.reachable, self._keeping)
            )
        finally:
            await closing
        options, self._ready = self.options, ready
        protected, tools = ready.environment.edits.protected, tuple(options.toolbox.tools)
        if options.opening == "brief":
            instruction = kinds.brief(ready.task, ready.prepared.start_tree)
        else:
            instruction = kinds.instruction(ready.task, tools, protected, ready.prepared.features)
        steps = Knobs.of(task).steps_of(options.max_steps)
        self._log = Log.begin(task.instance_id, seed, instruction, steps, options.max_output_chars)
        self._started = time.monotonic()
        return self._log.first

    async def step(self, action: Action | str) -> StepResult:
        """Take one action.

        Args:
            action: A JSON tool call. A malformed one costs a step; the answer says what was wrong.

        Returns:
            What came of it. After ``submit``, ``max_steps`` or ``max_episode_sec``, ``info.grade``
            is set and the reward is final. Where the sandbox failed: truncated, reward 0.0,
            ``info.fault`` set, no grade.

        Raises:
            UsageError: There is no running episode.
            TaskError: The task turned out to be broken; ``last_result`` is the faulty step's.
        """
        box = self._running()
        text, taken = _read(action)
        self._started += taken.lost_sec  # an endpoint's time is not the policy's
        return await self._turn(box, taken, self._act(box, text))

    async def expire(self) -> StepResult:
        """End it: the policy gave no action in the time that was left. Else as ``step``.

        Its last turn then has an empty action, whose ``note`` says so.
        """
        box = self._running()
        self._started = min(self._started, time.monotonic() - self.options.max_episode_sec)
        taken = Action("", note="no action in the time that was left")
        return await self._turn(box, taken, _nothing())

    async def grade(self) -> Grade:
        """Grade the work as it is now; a running episode goes on undisturbed.

        Raises:
            SandboxError: In several attempts. ``TaskError``: the task is broken.
        """
        if self.final_grade is not None:
            return self.final_grade
        return await self._grade(await boxes.collect_copy(self._running()))

    async def fork(self) -> Episode:
        """A second running episode from here: files, directory, exported variables."""
        twin_box = await self._setting.fork(self._known(), self._running())
        twin = copy.copy(self)
        twin._box, twin._log = twin_box, self._log.copy()
        twin._way = self._way.share() if self._way else None
        return twin

    async def checkpoint(self) -> Checkpoint:
        """This running episode as data; it goes on undisturbed."""
        box = self._running()
        return Checkpoint(
            task_id=self._log.task_id,
            seed=self._log.seed,
            turns=tuple(self._log.turns),
            work=await boxes.collect_copy(box),
            state=box.state,
            seconds=time.monotonic() - self._started,
        )

    async def resume(self, task: Task, checkpoint: Checkpoint) -> Observation:
        """Go on from a checkpoint, in a fresh sandbox.

        Returns:
            The newest observation.

        Raises:
            UsageError: The checkpoint is of another task. Else as ``reset``.
        """
        if task.instance_id != checkpoint.task_id:
            raise UsageError(
                f"the checkpoint is of task {checkpoint.task_id}, not {task.instance_id}"
            )
        await self.reset(task, seed=checkpoint.seed)
        await restore(self._running(), checkpoint)
        self._log.turns = list(checkpoint.turns)
        self._potential = potential_after(checkpoint.turns, self.options.gamma)
        self._measured = checkpoint.work
        self._started = time.monotonic() - checkpoint.seconds
        return self._log.last

    async def close(self) -> None:
        """Free the sandbox. Idempotent."""
        box, self._box = self._box, None
        way, self._way = self._way, None
        await boxes.stop(box, way)

    # One step

    async def _turn(
        self, box: Sandbox, taken: Action, answer: Coroutine[None, None, ToolResult]
    ) -> StepResult:
        """Record an action and its answer, and settle what comes of it."""
        began, taken_before = time.monotonic(), len(self._log.turns)
        try:
            result = await answer
            self._log.add(taken, result, time.monotonic() - began)
            return await self._settle(box, submitted=result.submitted)
        except (SandboxError, TaskError) as error:
            if len(self._log.turns) == taken_before:
                self._log.add(taken, ToolResult("[no answer]"), time.monotonic() - began)
            await self._fail("task" if isinstance(error, TaskError) else "sandbox", error)
            if isinstance(error, TaskError):
                raise
            return self._rewarded(0.0)
        except asyncio.CancelledError:
            self._log.truncated = True  # half a command may still run in there
            raise

    async def _act(self, box: Sandbox, text: object) -> ToolResult:
        toolbox = self.options.toolbox
        called = parse(text, toolbox.schemas)
        if isinstance(called, Malformed):
            return ToolResult(called.problem)
        tool = toolbox.tools[called.name]
        try:
            return await tool(self._workbench(box), **called.arguments)
        except ValueError as error:  # the policy's doing, as the contract of `Tool` says
            return ToolResult(f"{called.name} failed: {error}")

    def _workbench(self, box: Sandbox) -> Workbench:
        ready, options = self._known(), self.options

        async def run(ids: Sequence[str], timeout_sec: float) -> Sequence[TestOutcome]:
            outcomes = await run_tests(box, ready, ids, timeout_sec=timeout_sec)
            told = Knobs.of(ready.task).tracebacks
            return outcomes if told else [replace(one, message="") for one in outcomes]

        return Workbench(
            box,
            shown_tests=kinds.shown_tests(ready.task),
            run_tests=run,
            timeout_sec=min(
                options.command_timeout_sec,
                ready.environment.command_timeout_sec,
                self.left_sec,
            ),
            max_output_bytes=4 * options.max_output_chars,
        )

    async def _settle(self, box: Sandbox, *, submitted: bool) -> StepResult:
        """End the episode where it is to end; reward the step."""
        elapsed_sec = time.monotonic() - self._started
        out_of_steps = len(self._log.turns) >= self._log.max_steps
        truncated = out_of_steps or elapsed_sec >= self.options.max_episode_sec
        if self._way is not None:
            await network.check(self._way, ended=submitted or truncated)
        if submitted or truncated:
            self.work = await box.collect()
            await self.close()
            self.final_grade = await self._grade(self.work)
            self._log.terminated, self._log.truncated = submitted, not submitted
        return self._rewarded(await self._earn(box))

    async def _grade(self, work: Manifest) -> Grade:
        ready, happened = self._known(), self.trajectory()
        return await boxes.persistently(lambda: self._setting.grade(ready, work, happened))

    async def _earn(self, box: Sandbox) -> float:
        reward, grade = self.options.reward_function, self.final_grade
        earned = reward(grade, self.trajectory()) if grade is not None else 0.0
        if not isinstance(reward, Shaped):
            return earned
        before, began = self._potential, time.monotonic()
        self._potential = await self._measure(box, reward) if grade is None else 0.0
        self._started += time.monotonic() - began  # measuring is not the policy's time
        return earned + self.options.gamma * self._potential - before

    async def _measure(self, box: Sandbox, reward: Shaped) -> float:
        """The potential of the work as it is now, from a trusted grade of a copy."""
        work = await boxes.collect_copy(box)
        if work == self._measured:
            return self._potential
        grade, task = await self._grade(work), self.task
        self._measured = work
        return reward.potential(grade, kinds.shown_tests(task), task.fail_to_pass)

    async def _fail(self, fault: Fault, error: Exception) -> None:
        """End as faulty. What the sandbox was doing is unknown, so nothing of it is used."""
        self.fault, self.error, self.final_grade = fault, str(error), None
        self._log.terminated, self._log.truncated = False, True
        self._rewarded(0.0)
        with contextlib.suppress(SandboxError):
            await self.close()

    def _rewarded(self, reward: float) -> StepResult:
        log = self._log
        log.reward(reward)
        self.last_result = StepResult(log.last, reward, log.terminated, log.truncated, self.info)
        return self.last_result

    def _known(self) -> Ready:
        if self._ready is None:
            raise UsageError("there is no episode; call reset() first")
        return self._ready

    def _running(self) -> Sandbox:
        self._known()
        if self.ended or self._box is None:
            raise UsageError("the episode is over; call reset()")
        return self._box


def _read(action: object) -> tuple[object, Action]:
    """What was sent, and the action to be recorded: text, whatever was sent."""
    text = action.text if isinstance(action, Action) else action
    if isinstance(action, Action) and isinstance(text, str):
        return text, action
    return text, Action(text if isinstance(text, str) else repr(text)[:1000])


async def _nothing() -> ToolResult:
    """The answer to no action."""
    return ToolResult("[time is over]")


def _digest(ready: Ready) -> str:
    text = f"{ready.image.digest}\n{ready.prepared.digest}"
    return hashlib.sha256(text.encode()).hexdigest()
