"""One episode of a rollout: played by a policy, and played again where infrastructure failed."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

from codegym.envs.asking import ask
from codegym.envs.boxes import ATTEMPTS
from codegym.envs.checkpoint import Checkpoint
from codegym.envs.jobs import Job
from codegym.envs.options import EpisodeOptions
from codegym.envs.stage import Played, Stage, stage_of
from codegym.errors import PolicyError, SandboxError, TaskError
from codegym.grading.setting import Setting
from codegym.network.ways import Keeping
from codegym.types import EpisodeResult, Fault, Observation, Policy, Task, Trajectory, Turn


class Listener:
    """Told what happens while it happens. Override what is wanted; calls come from the loop."""

    def on_start(
        self, index: int, task: Task, seed: int, policy: str, first: Observation, turns: int
    ) -> None:
        """An episode began, or began anew after a fault, or went on after ``turns`` turns."""

    def on_turn(self, index: int, turn: Turn) -> None:
        """A turn was taken."""

    def on_checkpoint(self, index: int, checkpoint: Checkpoint) -> None:
        """A long episode can go on from here."""

    def keeping(self, job: Job) -> Keeping:  # noqa: ARG002 - for those who override it
        """What is to be kept of what an episode asks of the network."""
        return Keeping()


class Attempt:
    """Plays one job."""

    def __init__(
        self,
        place: Setting | Stage,
        options: EpisodeOptions,
        policy: Policy,
        job: Job,
        listener: Listener,
    ) -> None:
        self._stage, self._options = stage_of(place), options
        self._policy, self._job, self._listener = policy, job, listener
        self._began, self._reset_sec = time.monotonic(), 0.0

    async def play(self, checkpoint: Checkpoint | None, *, checkpoint_sec: float) -> EpisodeResult:
        """Play it, from a checkpoint where there is one; anew where the sandbox failed."""
        result = await self._once(checkpoint, checkpoint_sec)
        for _ in range(ATTEMPTS - 1):
            if result.fault != "sandbox":
                break
            result = await self._once(None, checkpoint_sec)
        return result

    async def _once(self, checkpoint: Checkpoint | None, checkpoint_sec: float) -> EpisodeResult:
        keeping = self._listener.keeping(self._job)
        episode = self._stage.episode(self._options, keeping)
        try:
            await self._begin(episode, checkpoint)
            await self._turns(episode, checkpoint_sec)
            return self._result(episode)
        except SandboxError as error:
            return self.faulty("sandbox", str(error))
        except TaskError as error:
            return self.faulty("task", str(error))
        except PolicyError as error:
            return replace(self._result(episode), fault="policy", error=str(error))
        finally:
            with contextlib.suppress(SandboxError):
                await episode.close()

    async def _begin(self, episode: Played, checkpoint: Checkpoint | None) -> None:
        job, began = self._job, time.monotonic()
        if checkpoint is None:
            await episode.reset(job.task, seed=job.seed)
        else:
            await episode.resume(job.task, checkpoint)
        self._reset_sec = time.monotonic() - began
        history = episode.history
        self._listener.on_start(
            job.index,
            episode.task,
            history.seed,
            self._policy.version,
            history.first,
            len(history.turns),
        )

    async def _turns(self, episode: Played, checkpoint_sec: float) -> None:
        due = time.monotonic() + checkpoint_sec
        while not episode.ended:
            action = await ask(self._policy, episode.history, episode.left_sec)
            with contextlib.suppress(TaskError):  # the episode has noted it
                await (episode.expire() if action is None else episode.step(action))
            self._listener.on_turn(self._job.index, episode.history.turns[-1])
            if time.monotonic() >= due and not episode.ended:
                # Where a copy fails, the episode itself may still be well: its next step will tell.
                with contextlib.suppress(SandboxError):
                    self._listener.on_checkpoint(self._job.index, await episode.checkpoint())
                due = time.monotonic() + checkpoint_sec

    def _result(self, episode: Played) -> EpisodeResult:
        trajectory = episode.trajectory(self._policy.version)
        return EpisodeResult(
            index=self._job.index,
            task=episode.task,
            trajectory=trajectory,
            grade=episode.final_grade,
            reward=sum(turn.reward for turn in trajectory.turns),
            fault=episode.fault,
            error=episode.error,
            diff=episode.diff(),
            reset_sec=self._reset_sec,
            seconds=time.monotonic() - self._began,
            attestation=episode.attestation,
            work=episode.work,
        )

    def faulty(self, fault: Fault, error: str) -> EpisodeResult:
        """The result of an episode that could not begin."""
        job = self._job
        return EpisodeResult(
            index=job.index,
            task=job.task,
            trajectory=Trajectory(
                job.task.instance_id, self._policy.version, job.seed, Observation("", "", 0)
            ),
            grade=None,
            reward=0.0,
            fault=fault,
            error=error,
            seconds=time.monotonic() - self._began,
        )
