"""Kinds of task: which rows can be presented as which, and what a policy is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from codegym.envs.text import cut_middle
from codegym.errors import NotFoundError, UsageError
from codegym.types import WORKSPACE, Kind, Task

#: Follows each row's own kind; the id ``CodeGym/Tasks-v0``.
BY_ROW = "Tasks"
#: Upper bound of an instruction's length, in characters.
MAX_INSTRUCTION_CHARS = 32_768
_MAX_LISTED = 30
_MAX_STATEMENT_CHARS = 16_000


@dataclass(frozen=True, slots=True)
class Presentation:
    """How rows are presented as one kind.

    Attributes:
        kind: The kind.
        obstacle: Why a row cannot be presented so, or ``""``.
        ask: The first paragraphs of the instruction, which say what is wanted.
    """

    kind: Kind
    obstacle: Callable[[Task], str]
    ask: Callable[[Task], str]


def shown_tests(task: Task) -> tuple[str, ...]:
    """The test ids that a policy may know of, FAIL_TO_PASS first."""
    return tuple(test for test in task.test_ids if test not in task.hidden)


def _shown_failing(task: Task) -> tuple[str, ...]:
    return tuple(test for test in task.fail_to_pass if test not in task.hidden)


def _fix_tests_obstacle(task: Task) -> str:
    return "" if _shown_failing(task) else "all its failing tests are hidden"


def _fix_tests_ask(task: Task) -> str:
    failing = _shown_failing(task)
    wanted = (
        f"The repository in {WORKSPACE} has a fault: tests of it fail. Find the cause and repair "
        "it in the source code, so that these tests pass and all others still do."
    )
    parts = [wanted]
    if task.problem_statement.strip():
        parts.append(cut_middle(task.problem_statement.strip(), _MAX_STATEMENT_CHARS))
    listed = [f"- {cut_middle(test, 300)}" for test in failing[:_MAX_LISTED]]
    if len(failing) > _MAX_LISTED:
        listed.append(f"- … and {len(failing) - _MAX_LISTED} more (run_tests lists them)")
    parts.append("\n".join([f"Failing tests ({len(failing)}):", *listed]))
    return "\n\n".join(parts)


#: Each kind that can be presented today.
PRESENTATIONS: Mapping[str, Presentation] = {
    "FixTests": Presentation("FixTests", _fix_tests_obstacle, _fix_tests_ask),
}


def check_kind(kind: str) -> None:
    """Raise ``NotFoundError`` unless ``kind`` is a kind, or ``"Tasks"``."""
    if kind != BY_ROW and kind not in PRESENTATIONS:
        raise NotFoundError("kind", kind, (*PRESENTATIONS, BY_ROW))


def obstacle(task: Task, kind: str) -> str:
    """Why a row cannot be presented as ``kind`` (or ``"Tasks"``: as its own), or ``""``."""
    presented = task.kind if kind == BY_ROW else kind
    if presented not in PRESENTATIONS:
        return f"this version has no kind {presented!r}"
    return PRESENTATIONS[presented].obstacle(task)


def present(task: Task, kind: str) -> Task:
    """The row as the kind it is presented as.

    Raises:
        UsageError: It cannot be.
    """
    problem = obstacle(task, kind)
    if problem:
        raise UsageError(f"task {task.instance_id} cannot be presented as {kind}: {problem}")
    return task if kind in (BY_ROW, task.kind) else replace(task, kind=PRESENTATIONS[kind].kind)


def check_rows(tasks: Iterable[Task], kind: str) -> None:
    """Refuse a source with rows that cannot be presented.

    Raises:
        UsageError: Some cannot, with their count and the first one's reason; or there is no row.
    """
    check_kind(kind)
    total, refused, first = 0, 0, ""
    for task in tasks:
        total += 1
        problem = obstacle(task, kind)
        if problem:
            refused += 1
            first = first or f"{task.instance_id}: {problem}"
    if not total:
        raise UsageError("the task source is empty; pass `tasks` with at least one row")
    if refused:
        raise UsageError(
            f"{refused} of {total} rows cannot be presented as {kind} (first {first}); "
            "leave them out, or choose another id"
        )


def instruction(task: Task, tools: Sequence[str], protected: Sequence[str]) -> str:
    """What a policy is told at the start: a pure function of its arguments.

    Args:
        task: The row, as it is presented.
        tools: Names of the tools.
        protected: Globs of the paths whose changes are not the policy's to make.

    Returns:
        Text of at most ``MAX_INSTRUCTION_CHARS`` characters.
    """
    rules = [
        f"Each action is one JSON tool call, for example: {_example(tools)}",
        f"Tools: {', '.join(tools)}.",
    ]
    if protected:
        rules.append(f"Do not change tests or their set-up ({', '.join(protected[:8])}).")
    rules.append("Your files are graded elsewhere, by clean copies of the tests.")
    if "submit" in tools:
        rules.append("Call submit when you are done.")
    ask = PRESENTATIONS[task.kind].ask(task)
    text = f"{ask}\n\n{rules[0]}\n{' '.join(rules[1:])}\n"
    return cut_middle(text, MAX_INSTRUCTION_CHARS)


def _example(tools: Sequence[str]) -> str:
    if "bash" in tools:
        return '{"name": "bash", "arguments": {"command": "ls"}}'
    return f'{{"name": "{tools[0]}", "arguments": {{}}}}'
