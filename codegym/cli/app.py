"""The commands, and what becomes of errors. Each command imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer
from typer.core import TyperGroup

from codegym.cli import (
    INTERRUPTED,
    audit,
    cache,
    check,
    doctor,
    environment,
    evaluate,
    generate,
    image,
    network,
    pack,
    plot,
    proxy,
    redteam,
    replay,
    report,
    restore,
    run,
    serve,
    tasks,
    train,
)
from codegym.cli.bench import command as bench
from codegym.cli.curriculum import command as curriculum
from codegym.cli.demo import command as demo
from codegym.cli.output import safe
from codegym.errors import CodeGymError

#: Where this variable is set, an error is also told with its traceback and its causes.
TRACEBACK = "CODEGYM_TRACEBACK"


class Commands(TyperGroup):
    """Turns errors into one line on stderr and an exit status."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run a command."""
        try:
            return super().invoke(ctx)
        except CodeGymError as error:
            if os.environ.get(TRACEBACK):
                typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
            typer.echo(f"codegym: {safe(str(error))}", err=True)
            raise typer.Exit(error.exit_status) from None
        except KeyboardInterrupt:
            typer.echo("codegym: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=Commands,
    name="codegym",
    help="Code repositories as reinforcement-learning environments that cannot be cheated.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from codegym import __version__

        sys.stdout.write(f"codegym {__version__}\n")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Code repositories as reinforcement-learning environments that cannot be cheated."""


app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("replay")(replay.replay)
app.command("restore")(restore.restore)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("generate")(generate.generate)
app.command("check")(check.check)
app.command("redteam")(redteam.redteam)
app.command("audit")(audit.audit)
app.command("doctor")(doctor.doctor)
app.command("bench")(bench.bench)
app.add_typer(tasks.app, name="tasks")
app.add_typer(environment.app, name="environment")
app.add_typer(curriculum.app, name="curriculum")
app.add_typer(train.app, name="train")
app.command("plot")(plot.plot)
app.add_typer(pack.app, name="pack")
app.add_typer(image.app, name="image")
app.add_typer(cache.app, name="cache")
app.add_typer(network.app, name="network")
app.add_typer(serve.app, name="serve")
app.add_typer(proxy.app, name="proxy")
