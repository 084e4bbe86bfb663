"""Every command that a page shows exists as written, and every command is documented."""

import importlib
import re
import shlex
from pathlib import Path

import pytest
import typer

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs/pages").rglob("*.md"))]
SHOWN = re.compile(r"^(?:    )?(?:\.venv/bin/)?(codegym .*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def root():
    from codegym.cli.app import app

    return typer.main.get_command(app)


def _shown() -> list[tuple[str, str]]:
    fenced = re.compile(r"```(?:sh|console)\n(.*?)```", re.DOTALL)
    found = []
    for page in PAGES:
        for block in fenced.findall(page.read_text()):
            found += [(page.name, line) for line in SHOWN.findall(block)]
    return found


def _parse(command, words: list[str]) -> None:
    """Parse as the command line would, without running anything."""
    while hasattr(command, "commands"):
        assert words, "a group of commands, and none of them"
        command, words = command.commands[words[0]], words[1:]
    command.make_context("codegym", list(words))


def test_there_are_commands_to_check():
    assert len(_shown()) >= 12


@pytest.mark.parametrize(("page", "line"), _shown())
def test_a_shown_command_parses(root, page, line):
    _parse(root, shlex.split(line, comments=True)[1:])


def test_the_reference_has_every_command_and_option(root, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    hooks = importlib.import_module("hooks")
    text, missing = hooks.reference(), []
    commands = list(hooks.leaves(root))
    for path, command in commands:
        section = text.split(f"\n## `{path}`\n")[1].split("\n## `")[0]
        names = [max(p.opts, key=len) for p in command.params if p.param_type_name == "option"]
        missing += [f"{path} {name}" for name in names if f"`{name}" not in section]
    assert missing == []
    assert len(commands) >= 10


def test_the_reference_has_every_operator(monkeypatch):
    from codegym.mutation import COMPOSITES
    from codegym.mutation.operators import BUILTIN

    monkeypatch.syspath_prepend(ROOT / "docs")
    single, joined = importlib.import_module("hooks").operators().split("## Composites")
    cells = [row.strip("| ").split(" | ") for row in single.strip().splitlines()[2:]]
    assert all(len(row) == 5 and len(row[3]) > 10 for row in cells)
    named = {f"{language}.{row[0].strip('`')}" for row in cells for language in row[4].split(", ")}
    assert named == set(BUILTIN)
    rows = [row.strip("| ").split(" | ") for row in joined.splitlines() if row.startswith("| `")]
    assert all(len(row) == 4 and len(row[3]) > 10 for row in rows)
    assert {f"composite.{row[0].strip('`')}" for row in rows} == set(COMPOSITES)
