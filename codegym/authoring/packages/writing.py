"""An environment's folder, written from what was found of a package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codegym.authoring.packages.layout import Layout
from codegym.authoring.packages.metadata import PackageInfo

_DOCKERFILE = """\
# BASE is any image that has Python 3.11 or later as `python3`.
ARG BASE
FROM ${BASE}

COPY requirements.lock /opt/codegym/requirements.lock
RUN python3 -m venv --without-pip /opt/codegym/venv \\
    && python3 -m pip --python /opt/codegym/venv/bin/python install \\
        --no-cache-dir --no-compile --only-binary=:all: --require-hashes \\
        --requirement /opt/codegym/requirements.lock

RUN useradd --create-home --uid 10001 agent
USER agent
WORKDIR /workspace

ENV PATH=/opt/codegym/venv/bin:$PATH \\
    PYTHONDONTWRITEBYTECODE=1
"""


@dataclass(frozen=True, slots=True)
class Content:
    """All that goes into the folder.

    Attributes:
        name: The environment's.
        info: What the package says of itself.
        layout: Where its parts are.
        history: The stream, and the hash of its one commit.
        lock: Text of ``requirements.lock``.
        origin: Where it is from, as a sentence without addresses.
        excluded: Tests that are not the suite's, to the reason.
        deselect: Those of them that can be named without naming others.
        timeout_sec: Wall time of the suite.
    """

    name: str
    info: PackageInfo
    layout: Layout
    history: tuple[bytes, str]
    lock: str
    origin: str
    excluded: Mapping[str, str]
    deselect: tuple[str, ...]
    timeout_sec: float


def write_folder(folder: Path, content: Content) -> None:
    """Write the folder, or write it again."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "history.fast-export").write_bytes(content.history[0])
    (folder / "requirements.lock").write_text(content.lock, encoding="utf-8")
    (folder / "Dockerfile").write_text(_DOCKERFILE, encoding="utf-8")
    (folder / "README.md").write_text(_readme(content), encoding="utf-8")
    (folder / "environment.toml").write_text(_toml(content), encoding="utf-8")


def _toml(content: Content) -> str:
    info, layout = content.info, content.layout
    own = [path if path.endswith(".py") else f"{path}/**" for path in layout.packages]
    tests = [path if path.endswith(".py") else f"{path}/**" for path in layout.tests]
    config = [path for path in layout.config if not path.endswith("conftest.py")]
    left_out = "".join(
        f"    {_text(test_id)}, # {content.excluded[test_id]}\n" for test_id in content.deselect
    )
    deselect = f"[\n{left_out}]" if left_out else "[]"
    return f"""\
name = {_text(content.name)}
summary = {_text(info.summary)}
language = "python"
license = {_text(info.license)}
history = "history.fast-export"
head = {_text(content.history[1])}
subdir = "."
services = []

[image]
python = {_text(info.python)}
requirements = "requirements.lock"
dockerfile = "Dockerfile"
system_packages = []
env = {{}}
install = []
build = []
import_paths = {_list([layout.import_path])}
build_secrets = []

[[suites]]
name = "unit"
runner = "pytest"
select = {_list(layout.tests)}
deselect = {deselect}
import_paths = {_list([layout.import_path])}
config = {_list(layout.config)}
timeout_sec = {content.timeout_sec:.1f}

[edits]
permitted = {_list([*own, *tests])}
protected = {_list([*tests, *config, "**/conftest.py"])}

[limits]
memory_mb = 1024
disk_mb = 256
processes = 128
files = 50000
command_timeout_sec = 120.0
"""


def _readme(content: Content) -> str:
    lines = [
        f"# {content.name}",
        "",
        f"{content.info.summary}. Licence: {content.info.license}.",
        "",
        f"{content.origin} The history is one commit with its files. Made by:",
        "",
        f"    codegym environment add pypi:{content.info.name}=={content.info.version}",
        "",
    ]
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
        "Make tasks with a patch that puts a bug in:",
        "",
        f"    codegym tasks from-patch {content.name} bug.patch",
        "",
    ]
    return "\n".join(lines)


def _text(value: str) -> str:
    """A TOML string. JSON's are the same, but for the one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"
