"""Kinds of task: which rows can be presented as which, and what a policy is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from codegym.envs import hiding
from codegym.envs.text import cut_middle, decode
from codegym.envs.tools.view import numbered
from codegym.errors import NotFoundError, UsageError
from codegym.tasks import Joined, TaskFile
from codegym.tasks.knobs import knob_problem
from codegym.types import WORKSPACE, Kind, Task, TaskSource, Tree

#: Follows each row's own kind; the id ``CodeGym/Tasks-v0``.
BY_ROW = "Tasks"
#: How an episode may open: see ``instruction`` and ``brief``.
OPENINGS = ("full", "brief")
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
        ask: The first paragraphs of the instruction, which say what is wanted, given the row and
            the features that it asks for.
        unseen: The test ids that a policy never sees.
    """

    kind: Kind
    obstacle: Callable[[Task], str]
    ask: Callable[[Task, Sequence[str]], str]
    unseen: Callable[[Task], frozenset[str]]


def shown_tests(task: Task) -> tuple[str, ...]:
    """The test ids that a policy may know of, FAIL_TO_PASS first."""
    return tuple(test for test in task.test_ids if test not in task.hidden)


def _shown_failing(task: Task) -> tuple[str, ...]:
    return tuple(test for test in task.fail_to_pass if test not in task.hidden)


def _fix_tests_obstacle(task: Task) -> str:
    shown = set(task.fail_to_pass) - hiding.with_twins(task)
    return "" if shown else "all its failing tests are hidden"


def _fix_tests_ask(task: Task, _: Sequence[str]) -> str:
    wanted = (
        f"The repository in {WORKSPACE} has a fault: tests of it fail. Find the cause and repair "
        "it in the source code, so that these tests pass and all others still do."
    )
    parts = [wanted]
    if task.problem_statement.strip():
        parts.append(_statement(task))
    parts.append(_failing_tests(_shown_failing(task)))
    return "\n\n".join(parts)


def _statement(task: Task) -> str:
    statement = hiding.without_names(task.problem_statement.strip(), task.hidden)
    return cut_middle(statement, _MAX_STATEMENT_CHARS)


def _failing_tests(failing: Sequence[str]) -> str:
    listed = [f"- {cut_middle(test, 300)}" for test in failing[:_MAX_LISTED]]
    if len(failing) > _MAX_LISTED:
        listed.append(f"- … and {len(failing) - _MAX_LISTED} more (run_tests lists them)")
    return "\n".join([f"Failing tests ({len(failing)}):", *listed])


def _fix_issue_obstacle(task: Task) -> str:
    return "" if task.problem_statement.strip() else "it has no problem statement"


def _fix_issue_ask(task: Task, _: Sequence[str]) -> str:
    wanted = (
        f"The repository in {WORKSPACE} has the problem that is described below. Find the cause "
        "and repair it in the source code. Tests that you do not see decide whether it is solved, "
        "and that what worked before still does."
    )
    return f"{wanted}\n\n{_statement(task)}"


def _implement_obstacle(task: Task) -> str:
    if task.kind != "ImplementFeature":
        return (
            f"it is a {task.kind} row: no feature was taken away; make such rows with "
            f"`codegym generate {task.environment} --kind feature`"
        )
    return ""


def _implement_ask(task: Task, features: Sequence[str]) -> str:
    wanted = (
        f"A feature is missing from the repository in {WORKSPACE}. Implement it, as the code that "
        "uses it, the documentation and the tests expect. Tests that you do not see may decide, "
        "too."
    )
    parts = [wanted]
    if features:
        listed = [f"- {cut_middle(one, 300)}" for one in features[:_MAX_LISTED]]
        parts.append("\n".join(["What is to be implemented:", *listed]))
    if task.problem_statement.strip():
        parts.append(_statement(task))
    if failing := _shown_failing(task):
        parts.append(_failing_tests(failing))
    elif not features and not task.problem_statement.strip():
        files = ", ".join(sorted(hiding.touched(task.patch))[:_MAX_LISTED])
        parts.append(f"It belongs into: {files}")
    return "\n\n".join(parts)


#: Each kind that can be presented today.
PRESENTATIONS: Mapping[str, Presentation] = {
    "FixTests": Presentation("FixTests", _fix_tests_obstacle, _fix_tests_ask, hiding.with_twins),
    "FixIssue": Presentation("FixIssue", _fix_issue_obstacle, _fix_issue_ask, hiding.of_issue),
    "ImplementFeature": Presentation(
        "ImplementFeature", _implement_obstacle, _implement_ask, hiding.with_twins
    ),
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
    return knob_problem(task) or PRESENTATIONS[presented].obstacle(task)


def present(task: Task, kind: str) -> Task:
    """The row as the kind it is presented as.

    Raises:
        UsageError: It cannot be.
    """
    problem = obstacle(task, kind)
    if problem:
        raise UsageError(f"task {task.instance_id} cannot be presented as {kind}: {problem}")
    how = PRESENTATIONS[task.kind if kind == BY_ROW else kind]
    hidden = how.unseen(task)
    if (task.kind, task.hidden) == (how.kind, hidden):
        return task
    return replace(task, kind=how.kind, hidden=hidden)


@runtime_checkable
class Narrowable(TaskSource, Protocol):
    """A source that can leave out some of its tasks."""

    def only(self, keep: Callable[[Task], bool]) -> TaskSource:
        """The same source, of which only some tasks are drawn."""
        ...


def choose_rows(tasks: TaskSource, kind: str) -> TaskSource:
    """The source with the rows that an id presents.

    ``ImplementFeature`` chooses the features of a pack that also holds other rows.

    Raises:
        UsageError: As for ``check_rows``, of what is left.
    """
    narrows = kind == "ImplementFeature" and any(task.kind == kind for task in tasks)
    if narrows and isinstance(tasks, Narrowable):
        tasks = tasks.only(lambda task: task.kind == kind)
    check_rows(tasks, kind)
    return tasks


def check_rows(tasks: Iterable[Task], kind: str) -> None:
    """Refuse a source with rows that cannot be presented.

    Raises:
        UsageError: Some cannot, with their count and the first one's reason; or there is no row,
            or only quarantined ones.
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
        if isinstance(tasks, TaskFile | Joined):
            tasks.require_any()
        raise UsageError("the task source is empty; pass `tasks` with at least one row")
    if refused:
        raise UsageError(
            f"{refused} of {total} rows cannot be presented as {kind} (first {first}); "
            "leave them out, or choose another id"
        )


def instruction(
    task: Task, tools: Sequence[str], protected: Sequence[str], features: Sequence[str] = ()
) -> str:
    """What a policy is told at the start: a pure function of its arguments.

    Args:
        task: The row, as it is presented.
        tools: Names of the tools.
        protected: Globs of the paths whose changes are not the policy's to make.
        features: What is to be implemented, where the kind asks for that.

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
    ask = PRESENTATIONS[task.kind].ask(task, features)
    text = f"{ask}\n\n{rules[0]}\n{' '.join(rules[1:])}\n"
    return cut_middle(text, MAX_INSTRUCTION_CHARS)


def brief(task: Task, tree: Tree) -> str:
    """What differs from task to task, and no more: for models that learn the rest.

    The shown failing tests, or the problem statement, and the files that are to be changed: a
    policy need not look for them, so a rate from here is none from ``instruction``.

    Args:
        task: The row, as it is presented.
        tree: What the policy starts from.

    Returns:
        Text of at most ``MAX_INSTRUCTION_CHARS`` characters.
    """
    asked = _statement(task) if task.kind == "FixIssue" else "\n".join(_shown_failing(task))
    paths = sorted(hiding.touched(task.patch) & tree.keys())
    files = [f"{path}\n{numbered(decode(tree[path].data), path)}" for path in paths]
    return cut_middle("\n\n".join([asked, *files]), MAX_INSTRUCTION_CHARS)


def _example(tools: Sequence[str]) -> str:
    if "bash" in tools:
        return '{"name": "bash", "arguments": {"command": "ls"}}'
    return f'{{"name": "{tools[0]}", "arguments": {{}}}}'
