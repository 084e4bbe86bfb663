"""``codegym tasks``: look at tasks, and make them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from codegym.cli.options import Json, Sandbox, TaskSourceName
from codegym.cli.output import console, counted, plain, print_json, safe
from codegym.errors import DataError

if TYPE_CHECKING:
    from codegym.authoring import FromHistory, FromPatch
    from codegym.types import Task

EnvironmentName = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help="One of `codegym environment list`.")
]

app = typer.Typer(help="Look at tasks, and make them.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_tasks(tasks: TaskSourceName = None, json: Json = False) -> None:
    """List the tasks of a source, and those quarantined."""
    from codegym.tasks import sources

    source = sources.resolve(tasks)
    for task in source:
        _check_patches(task, *source.place(task.instance_id))
    if json:
        ids = [task.instance_id for task in source]
        print_json({"digest": source.digest, "tasks": ids, "quarantined": source.quarantined})
        return
    out = console()
    for task in source:
        first = task.problem_statement.strip().split("\n")[0]
        counts = f"{len(task.fail_to_pass):>3} to repair, {len(task.pass_to_pass):>4} to keep"
        out.print(f"{safe(task.instance_id):<24} {counts}  {safe(first)}", soft_wrap=True)
    for task_id, reason in source.quarantined.items():
        out.print(f"{safe(task_id):<24} quarantined: {safe(reason)}", style="yellow")


def _check_patches(task: Task, path: Path, line: int) -> None:
    """Raise ``DataError`` where one of a row's patches is none."""
    from codegym.workspace.patch import patch_problem

    for field in ("patch", "test_patch", "start_patch"):
        problem = patch_problem(getattr(task, field))
        if problem:
            raise DataError(path, problem, line=line, field=field)


@app.command("show")
def show_task(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task's instance_id.")],
    tasks: TaskSourceName = None,
    json: Json = False,
) -> None:
    """Show one task: what is asked, its tests, and the answer."""
    from codegym.tasks import sources

    task = sources.resolve(tasks or task_id).get(task_id)
    if json:
        print_json(plain(task))
        return
    out = console()
    out.rule(safe(task.instance_id), align="left")
    out.print(f"{task.kind} in {task.environment}, on {task.base_commit[:12]}", style="dim")
    out.print(safe(task.problem_statement.strip()))
    for title, ids in (("to repair", task.fail_to_pass), ("to keep", task.pass_to_pass)):
        out.print(f"\n{len(ids)} tests {title}", style="bold")
        for test_id in ids:
            out.print(f"  {safe(test_id)}", soft_wrap=True)
    out.print("\nthe answer", style="bold")
    out.print(safe(task.patch), soft_wrap=True)


@app.command("from-history")
def from_history(
    environment: EnvironmentName, sandbox: Sandbox = "auto", json: Json = False
) -> None:
    """Make tasks of the commits of an environment's history that repaired something.

    A commit is one if it turns tests from failing to passing, every time. Stopped at any moment, it
    goes on from there when the same command is given again; the old tasks stand until it is done.
    """
    from codegym import authoring
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting
    from codegym.tasks import sources

    home = sources.environment(environment)

    async def make() -> FromHistory:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await authoring.from_history(home, setting, steps)

    result = asyncio.run(make())
    if json:
        ids = [task.instance_id for task in result.tasks]
        print_json(
            {
                "environment": home.name,
                "commits": result.commits,
                "tasks": ids,
                "dropped": result.dropped,
                "reasons": result.reasons,
                "pack": result.pack,
            }
        )
        return
    out = console()
    for each in result.dropped:
        said = f"{each.commit[:8]} {each.reason}: {each.detail} ({each.subject})"
        out.print(safe(said), style="yellow", soft_wrap=True)
    out.print(
        f"{counted(len(result.tasks), 'task')} of {counted(result.commits, 'commit')}, "
        f"{len(result.dropped)} dropped; "
        f"version {result.pack.version} of the pack {result.pack.name}"
    )
    out.print(f"codegym check {home.name}", style="dim")


@app.command("from-patch")
def from_patch(
    environment: EnvironmentName,
    patch: Annotated[
        Path, typer.Argument(metavar="PATCH", help="A diff that puts a bug into the newest commit.")
    ],
    statement: Annotated[
        str, typer.Option(help="What the agent is told; by default, that some tests fail.")
    ] = "",
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Make a task of a bug written down as a patch: running it finds the tests that fail."""
    from codegym import authoring
    from codegym.cli.steps import Steps
    from codegym.loop import open_setting
    from codegym.tasks import sources

    home = sources.environment(environment)

    async def make() -> FromPatch:
        with Steps() as steps:
            async with open_setting(sandbox, steps.note) as setting:
                return await authoring.from_patch(
                    home, patch, setting, statement=statement, progress=steps
                )

    result = asyncio.run(make())
    task = result.task
    if json:
        print_json({"task": task, "pack": result.pack})
        return
    out = console()
    out.print(
        f"{task.instance_id}: {counted(len(task.fail_to_pass), 'test')} fail with the bug, "
        f"{len(task.pass_to_pass)} must keep passing; version {result.pack.version} of the pack "
        f"{result.pack.name}",
        soft_wrap=True,
    )
    for test_id in task.fail_to_pass:
        out.print(f"  {safe(test_id)}", soft_wrap=True)
    out.print(f"codegym check {home.name}", style="dim")
