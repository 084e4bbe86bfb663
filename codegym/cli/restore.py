"""``codegym restore``: an episode's work as a commit in a repository with the true history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codegym.cli.options import EpisodeNumber, Json, RunPath
from codegym.cli.output import console, print_json


def restore(
    run: RunPath,
    repo: Annotated[Path, typer.Option("--repo", help="A clone of the environment's repository.")],
    episode: EpisodeNumber = 0,
    branch: Annotated[
        str, typer.Option(help="The branch to make.", show_default="codegym/<task>-<episode>")
    ] = "",
    json: Json = False,
) -> None:
    """Commit an episode's work onto a new branch; your checkout and index stay as they are."""
    import git

    from codegym.runs import open_run
    from codegym.tasks.sources import environment
    from codegym.workspace.restore import restore as commit_work

    result = open_run(run).episode(episode)
    task = result.task
    branch = branch or f"codegym/{task.instance_id}-{episode}"
    home = environment(task.environment)
    commit = commit_work(repo, task, home, result.work, branch=branch)
    with git.Repo(repo) as opened:  # the user's own repository: theirs to configure
        changed = opened.commit(commit).stats.total
    if json:
        print_json({"branch": branch, "commit": commit, "repo": repo, **changed})
        return
    console().print(f"{commit[:12]} on branch {branch} of {repo}", soft_wrap=True)
    console().print("{files} files changed, +{insertions} -{deletions}".format(**changed))
