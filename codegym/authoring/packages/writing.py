"""An environment's folder, written from what was found of a package."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codegym.authoring.packages.gathering import Gathered
from codegym.authoring.packages.services import Declaration
from codegym.sandbox.images.docker import DOCKERFILE

GENERATED = "generated"


@dataclass(frozen=True, slots=True)
class Content:
    """All that goes into the folder.

    Attributes:
        found: What is known without running anything.
        lock: Text of ``requirements.lock``.
        declaration: What the user declared besides.
        excluded: Tests that are not the suite's, to the reason.
        deselect: Those of them that can be named without naming others.
        timeout_sec: Wall time of the suite.
    """

    found: Gathered
    lock: str
    declaration: Declaration
    excluded: Mapping[str, str]
    deselect: tuple[str, ...]
    timeout_sec: float


def write_folder(folder: Path, content: Content) -> None:
    """Write the folder, or write it again."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "history.fast-export").write_bytes(content.found.history[0])
    (folder / "requirements.lock").write_text(content.lock, encoding="utf-8")
    (folder / "Dockerfile").write_bytes(DOCKERFILE.read_bytes())
    (folder / "README.md").write_text(_readme(content), encoding="utf-8")
    (folder / "environment.toml").write_text(_toml(content), encoding="utf-8")
    for path, file in content.found.generated.items():
        target = folder / GENERATED / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)


def _toml(content: Content) -> str:
    found, declared = content.found, content.declaration
    info, layout = found.info, found.layout
    config = [path for path in layout.config if not path.endswith("conftest.py")]
    tests = [_glob(found, path) for path in layout.tests]
    left_out = _lines(
        f"{_text(test_id)}, # {content.excluded[test_id]}" for test_id in content.deselect
    )
    generated = f'generated = "{GENERATED}"\n' if found.generated else ""
    protected = [*tests, *(_inside(found, path) for path in config), "**/conftest.py"]
    protected += ["*.so", "*.so.*"] if found.compiled else []
    services = _lines(
        f"{{ name = {_text(one.name)}, start = {_text(one.start)}, ready = {_text(one.ready)} }},"
        for one in declared.services
    )
    return f"""\
name = {_text(found.name)}
summary = {_text(info.summary)}
language = "python"
license = {_text(info.license)}
history = "history.fast-export"
head = {_text(found.history[1])}
{generated}subdir = {_text(found.subdir)}
services = {services}

[image]
python = {_text(info.python)}
requirements = "requirements.lock"
dockerfile = "Dockerfile"
system_packages = {_list(declared.system_packages)}
env = {_table({**found.env, **declared.env})}
install = []
build = []
import_paths = {_list([layout.import_path])}
build_secrets = []

[[suites]]
name = "unit"
runner = "pytest"
select = {_list(layout.tests)}
deselect = {left_out}
import_paths = {_list([layout.import_path])}
config = {_list(layout.config)}
timeout_sec = {content.timeout_sec:.1f}

[edits]
permitted = {_list([*(_glob(found, path) for path in layout.packages), *tests])}
protected = {_list(protected)}

[limits]
memory_mb = 1024
disk_mb = 256
processes = 128
files = 50000
command_timeout_sec = 120.0
"""


def _inside(found: Gathered, path: str) -> str:
    """A path in the repository; globs of edits are relative to it."""
    return path if found.subdir == "." else f"{found.subdir}/{path}"


def _glob(found: Gathered, path: str) -> str:
    whole = _inside(found, path)
    return whole if path.endswith(".py") else f"{whole}/**"


def _readme(content: Content) -> str:
    found = content.found
    subdir = "" if found.subdir == "." else f" --subdir {shlex.quote(found.subdir)}"
    reference = found.reference if found.reference.startswith("pypi:") else "REFERENCE"
    lines = [
        f"# {found.name}",
        "",
        f"{found.info.summary}. Licence: {found.info.license}.",
        "",
        f"{found.origin} Made by:",
        "",
        f"    codegym environment add {reference}{subdir}",
        "",
    ]
    lines += [line for note in found.notes for line in (note, "")]
    if content.excluded:
        lines += [
            "Tests that are not part of the suite, and why:",
            "",
            "| test | why |",
            "|---|---|",
        ]
        for test_id, reason in sorted(content.excluded.items()):
            shown = test_id.replace("|", "\\|")
            lines.append(f"| `{shown}` | {reason} |")
        lines.append("")
    lines += [
        "Make tasks by mutation, from fixes in its history, or with a patch that puts a bug in:",
        "",
        f"    codegym generate {found.name} --count 20",
        f"    codegym tasks from-history {found.name}",
        f"    codegym tasks from-patch {found.name} bug.patch",
        "",
    ]
    return "\n".join(lines)


def _text(value: str) -> str:
    """A TOML string. JSON's are the same, but for the one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _table(values: Mapping[str, str]) -> str:
    inside = ", ".join(f"{name} = {_text(value)}" for name, value in sorted(values.items()))
    return f"{{ {inside} }}" if inside else "{}"


def _lines(entries: Iterable[str]) -> str:
    """An array with one entry a line."""
    inside = "".join(f"    {entry}\n" for entry in entries)
    return f"[\n{inside}]" if inside else "[]"
