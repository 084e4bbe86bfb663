"""``CodeGym/CandidateEdits-v0``: repair by choosing one of many edits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from numpy.typing import NDArray

from codegym.agents.edits.context import WIDTH
from codegym.envs.gym_env import choose, task_id_of
from codegym.envs.marking import Marker
from codegym.envs.session import Session
from codegym.errors import SandboxError, TaskError, UsageError
from codegym.integrations.sb3.board import Board, Boards, Observed, observed
from codegym.registration import resolve
from codegym.store.memo import ScoreMemo
from codegym.types import EpisodeResult, Grade, Observation, Task, TaskSource, Trajectory

Mask = NDArray[np.bool_]


class CandidateEdits(gym.Env[Observed, np.int64]):
    """Each action makes one edit of the start tree, which is graded as a policy's work is.

    Action: ``Discrete(candidates)``, the number of an edit; an impossible one (see
    ``action_masks``) is an attempt in vain. Observation: ``cand``, shape ``(candidates, 14)``,
    0 to 1: hashed features of each edit, zeros where there is none or it was tried; ``left``, shape
    ``(1,)``, the share of attempts that are left. Reward: the grade's score. The episode terminates
    when the task is solved or no attempt is left. A faulty one ends truncated with reward 0.0 and
    ``info["fault"]`` set.

    Info: ``task_id``, ``solved``, ``attempts``, ``fault``, ``action_mask``; always all.

    Args:
        tasks: A task source, or what names one.
        candidates: Edits to choose from, at most.
        attempts: Of an episode.
        memo: A file of grades that are known; a twentieth of them is graded again all the same.
            None: each grading is in a sandbox.
        seed: Draws what is graded again.
        sandbox: Name of a sandbox backend.
        marker: Grades, in place of one of its own; shared by envs of one process.
        boards: The tasks' edits, likewise.

    Raises:
        UsageError: A value that cannot be used.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it
    action_space: Discrete

    def __init__(
        self,
        tasks: TaskSource | str | None = None,
        *,
        candidates: int = 96,
        attempts: int = 2,
        memo: str | Path | None = None,
        seed: int = 0,
        sandbox: str = "auto",
        marker: Marker | None = None,
        boards: Boards | None = None,
        render_mode: None = None,
    ) -> None:
        if candidates < 1 or attempts < 1:
            raise UsageError(f"candidates={candidates}, attempts={attempts}: both are 1 or more")
        self.render_mode = render_mode
        self.tasks = resolve(tasks) if tasks is None or isinstance(tasks, str) else tasks
        self.attempts, self.candidates = attempts, candidates
        if boards is not None and boards.limit != candidates:
            raise UsageError(f"candidates={candidates}, but the boards have {boards.limit}")
        self.marker = marker or Marker(ScoreMemo(Path(memo)) if memo else None, seed)
        self.action_space = Discrete(candidates)
        cells = Box(0.0, 1.0, (candidates, WIDTH), np.float32)
        left = Box(0.0, 1.0, (1,), np.float32)
        self.observation_space = cast("Space[Observed]", Dict({"cand": cells, "left": left}))
        self._session = Session(sandbox)
        self.boards = boards or Boards(candidates)
        self._board: Board | None = None
        self._tried: set[int] = set()
        self._made, self._ended = 0, True

    # Gymnasium's part

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seeds the choice of this task and the next ones.
            options: ``{"task_id": ID}`` chooses the task.

        Raises:
            NotFoundError: No such task, or option.
            SandboxError: No sandbox could be had. ``TaskError``: the task is broken, or there is no
                edit to choose from.
        """
        super().reset(seed=seed)
        task = choose(self.tasks, self.np_random, task_id_of(options))
        if self._session.inherited:
            self._session = self._session.anew()
        self._board = self.board(task.instance_id)
        self._tried, self._made, self._ended = set(), 0, False
        return self._observation(), self._info()

    def step(
        self, action: int | np.integer[Any]
    ) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        """Make an edit and have it graded.

        Raises:
            UsageError: There is no running episode, or there is no such action.
        """
        board, choice = self._running, int(action)
        if self._ended:
            raise UsageError("the episode is over; call reset()")
        if not self.action_space.contains(choice):
            raise UsageError(f"action {action!r}: 0 to {self.candidates - 1} is expected")
        fault, score = "", 0.0
        self._made += 1
        if self.action_masks()[choice]:
            self._tried.add(choice)
            try:
                score = self._session.run(self._score(board, choice))
            except SandboxError:
                fault = "sandbox"
            except TaskError:
                fault = "task"
        terminated = not fault and (score == 1.0 or self.spent)
        if terminated:
            self._tell(board.task, score)
        self._ended = terminated or bool(fault)
        return self._observation(), score, terminated, bool(fault), self._info(score, fault)

    def close(self) -> None:
        """Let go of the sandboxes. Idempotent; the env can be reset again."""
        self._session.close()

    # Ours

    def action_masks(self) -> Mask:
        """Which actions are possible: edits that are there and were not tried."""
        mask = np.zeros(self.candidates, np.bool_)
        if self._board is not None:
            mask[: len(self._board.edits)] = True
            mask[list(self._tried)] = False
        return mask

    def board(self, task_id: str) -> Board:
        """A task's edits; prepared where that was not done yet. Raises as ``reset``."""
        return self._session.run(self._prepared(task_id))

    @property
    def spent(self) -> bool:
        """Whether no attempt is left, or nothing to try."""
        return self._made >= self.attempts or not self.action_masks().any()

    async def _prepared(self, task_id: str) -> Board:
        return await self.boards.get(await self._session.setting(), self.tasks.get(task_id))

    async def _score(self, board: Board, choice: int) -> float:
        setting = await self._session.setting()
        work = await asyncio.to_thread(board.work, choice)
        return await self.marker.score(setting, board.ready, work)

    def _tell(self, task: Task, score: float) -> None:
        """Tell the source of tasks how an episode ended."""
        happened = Trajectory(task.instance_id, "", 0, Observation("", "", 0), terminated=True)
        self.tasks.observe([EpisodeResult(0, task, happened, Grade(score), score)])

    def _observation(self) -> Observed:
        return observed(self._running.cells, self._tried, self._made / self.attempts)

    def _info(self, score: float = 0.0, fault: str = "") -> dict[str, Any]:
        return {
            "task_id": self._running.task.instance_id,
            "solved": score == 1.0,
            "attempts": self._made,
            "fault": fault,
            "action_mask": self.action_masks(),
        }

    @property
    def _running(self) -> Board:
        if self._board is None:
            raise UsageError("there is no episode; call reset() first")
        return self._board
