"""A stage without sandboxes: a task's files in memory, graded by whether they are the gold ones.

For what is about learning, not about isolation: thousands of episodes a minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from codegym.envs.actions import Malformed, parse
from codegym.envs.kinds import present
from codegym.envs.log import Log
from codegym.errors import SandboxError
from codegym.tasks.sources import environment
from codegym.types import Action, Attestation, Grade, Image, Manifest, StepResult, ToolResult
from codegym.workspace.trees import trees_of


@dataclass
class Desk:
    """Where episodes are played.

    Attributes:
        lost: Ids of tasks whose sandboxes break.
        played: Episodes that ended.
    """

    lost: frozenset[str] = frozenset()
    played: int = 0
    trees: dict = field(default_factory=dict)

    def ahead(self, task):
        """Nothing is to be made ready."""

    def episode(self, options, keeping):
        return DeskEpisode(self, options)

    async def image(self, task):
        return Image("desk", (), {})

    def tree(self, task):
        if task.instance_id not in self.trees:
            self.trees[task.instance_id] = trees_of(task, environment(task.environment))
        return self.trees[task.instance_id]


class DeskEpisode:
    """See ``codegym.envs.stage.Played``."""

    fault, error, work = "", "", Manifest()
    attestation = Attestation({})
    left_sec = 1e9

    def __init__(self, desk, options):
        self._desk, self._options = desk, options
        self.final_grade = self._log = None

    async def reset(self, task, *, seed=0):
        if task.instance_id in self._desk.lost:
            raise SandboxError("the sandbox broke")
        self.task, options = present(task, self._options.kind), self._options
        start, _, self._gold = self._desk.tree(self.task)
        self._files = {path: file.data.decode() for path, file in start.items()}
        self._log = Log.begin(  # short, so that a test on a busy machine is, too
            task.instance_id, seed, "Repair it.", options.max_steps, options.max_output_chars
        )
        return self._log.first

    @property
    def ended(self):
        return self._log.ended

    @property
    def history(self):
        from codegym.types import History

        log = self._log
        tools = self._options.toolbox.functions
        return History(log.task_id, tools, log.first, tuple(log.turns), log.seed)

    def trajectory(self, policy=""):
        return self._log.trajectory(policy)

    def diff(self):
        return ""

    async def step(self, action):
        taken = action if isinstance(action, Action) else Action(action)
        called = parse(taken.text, self._options.toolbox.schemas)
        if isinstance(called, Malformed):
            result = ToolResult(called.problem)
        else:
            result = self._act(called.name, called.arguments)
        self._log.add(taken, result, 0.0)
        if result.submitted or len(self._log.turns) >= self._options.max_steps:
            self._log.terminated, self._log.truncated = result.submitted, not result.submitted
            self._desk.played += 1
            self.final_grade = self._grade()
            self._log.reward(self._options.reward_function(self.final_grade, self.trajectory()))

    async def expire(self) -> StepResult | None:
        raise NotImplementedError

    async def close(self):
        """Nothing is held."""

    def _grade(self):
        right = all(self._files.get(p) == f.data.decode() for p, f in self._gold.items())
        return Grade(float(right), text="Solved." if right else "Not solved: 0 of 1 tests pass.")

    def _act(self, name, given):
        if name == "submit":
            return ToolResult("submitted", submitted=True)
        if name == "run_tests":
            right = self._grade().solved
            return ToolResult("1 passed\n" if right else "1 failed\n", 0, int(not right), 1)
        if name == "view":
            lines = self._files.get(given["path"], "").splitlines()
            first, last = given.get("start_line", 1), given.get("end_line", len(lines))
            shown = enumerate(lines[first - 1 : last], first)
            return ToolResult("".join(f"{number}\t{line}\n" for number, line in shown))
        if name == "edit":
            text = self._files.get(given["path"], "")
            if text.count(given["old"]) != 1:
                return ToolResult("edit failed: old does not occur once; nothing was changed")
            self._files[given["path"]] = text.replace(given["old"], given["new"])
            return ToolResult(f"edited {given['path']}")
        return ToolResult(f"{name} failed: not at this desk")


class Tested:
    """A reward for running the tests before the end."""

    range = (0.0, 1.0)

    def __call__(self, grade, trajectory):
        return float(any("run_tests" in turn.action.text for turn in trajectory.turns))
