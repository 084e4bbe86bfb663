"""Writes the reference of commands and operators from the code itself, so that it cannot drift."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs calls this for each page."""
    made = {"reference/cli.md": reference, "reference/operators.md": operators}
    make = made.get(page.file.src_uri)
    return markdown + make() if make else markdown


def operators() -> str:
    """All operators and composites that come with CodeGym, as tables: a row for each meaning."""
    from codegym.mutation import COMPOSITES
    from codegym.mutation.operators import BUILTIN, CATALOGUE

    languages: dict[str, list[str]] = {}
    for full in BUILTIN:
        language, _, name = full.partition(".")
        languages.setdefault(name, []).append(language)
    rows = [
        f"| `{name}` | {one.kind} | {one.tier} | {_escaped(one.says)} | "
        f"{', '.join(languages[name])} |"
        for name, one in CATALOGUE.items()
    ]
    head = ["\n| operator | makes | tier | what it does | languages |", "|---|---|---|---|---|"]
    joined = [
        f"| `{name.removeprefix('composite.')}` | {one.kind} | {one.tier} | {_escaped(one.says)} |"
        for name, one in COMPOSITES.items()
    ]
    second = [
        "\n## Composites\n",
        "With [`--order`](../guides/mutation.md#harder-faults-of-several-edits) 2 and more.\n",
        "| composite | makes | tier | what it does |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, *second, *joined])


def _escaped(text: str) -> str:
    """Text that can stand in a cell."""
    return text.replace("|", "\\|")


def reference() -> str:
    """All commands, as Markdown."""
    from codegym.cli.app import app

    return "\n".join(
        _section(path, command) for path, command in leaves(typer.main.get_command(app))
    )


def leaves(command: Any, path: str = "codegym") -> Iterator[tuple[str, Any]]:
    """Each command that does something, with its full name."""
    commands = getattr(command, "commands", None)
    if commands is None:
        yield path, command
        return
    for name, sub in commands.items():
        yield from leaves(sub, f"{path} {name}")


def _section(path: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    words = [path, *(str(p.metavar or p.name).upper() for p in arguments)]
    words += [f"{_long(p)} {_value(p)}" for p in options if p.required]
    rows = [f"| `{p.metavar or p.name}` | {_cell(p)} |" for p in arguments]
    rows += [f"| `{_long(p)}{_spaced(_value(p))}` | {_cell(p)} |" for p in options]
    table = ["| option | what it does |", "|---|---|", *rows] if rows else []
    return "\n".join(
        [
            f"\n## `{path}`\n",
            inspect.cleandoc(command.help or ""),
            f"\n```console\n{' '.join(words)}\n```\n",
            *table,
        ]
    )


def _long(option: Any) -> str:
    return str(max(option.opts, key=len))


def _value(option: Any) -> str:
    """What is written after an option; nothing for a switch."""
    return "" if option.is_flag else str(option.metavar or option.name).upper()


def _spaced(value: str) -> str:
    return f" {value}" if value else ""


def _cell(parameter: Any) -> str:
    """Help and default, on one line of a table."""
    text = _escaped(" ".join((getattr(parameter, "help", "") or "").split()))
    default = parameter.default
    plain = (
        isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    )
    return f"{text} Default: `{default}`." if plain and not parameter.required else text
