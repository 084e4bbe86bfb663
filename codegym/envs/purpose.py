"""What a registry has to know of a task, and whether pip holds its answer."""

from __future__ import annotations

import tomllib

from codegym.errors import TaskError
from codegym.grading.ready import Ready
from codegym.network.pip_wheel import pip_layer
from codegym.network.ways import Purpose
from codegym.sandbox.images import shared_functions
from codegym.sandbox.images.similarity import vendored
from codegym.store import LayerStore
from codegym.types import Image, Task, Tree
from codegym.workspace.patch import apply_patch
from codegym.workspace.unified import parse

#: A piece of a solution that is shorter could be anyone's.
_MIN_MARKER_CHARS = 24
#: One that is longer is cut, and there are so many at most: the longest.
_MAX_MARKER_CHARS, _MAX_MARKERS = 2000, 64


def purpose_of(ready: Ready) -> Purpose:
    """The task's date, its project's names, and pieces of its solution."""
    return Purpose(
        as_of=ready.task.created_at or None,
        denied=names_of(ready),
        markers=markers_of(ready.task, ready.prepared.start_tree),
    )


def refuse_what_pip_holds(ready: Ready) -> None:
    """Raise ``TaskError`` where pip, which brings copies of other packages, has the answer."""
    store = LayerStore()
    layer = pip_layer(store)
    pip = Image(layer.name, (layer,))
    copies = {"pip": "itself", **vendored(pip)}
    for name in sorted(ready.scene.package_names):
        if where := copies.get(name.lower().replace("_", "-")):
            raise _refused(ready, f"a copy of {name} ({where})")
    start = ready.prepared.start_tree
    solved = apply_patch(start, ready.task.patch, where="patch")
    known = set(shared_functions(pip, start, store))
    for match in shared_functions(pip, solved, store):
        if match not in known:
            raise _refused(ready, f"the answer ({match.function}, in {match.image_path})")


def _refused(ready: Ready, what: str) -> TaskError:
    return TaskError(
        ready.task.instance_id,
        f"the network policy brings pip into the sandbox, and pip holds {what}; "
        "play it with a policy that names no registry of pip",
    )


def names_of(ready: Ready) -> tuple[str, ...]:
    """Names that the project under test, its forks and its copies may have on an index."""
    environment = ready.environment
    names = {
        *environment.aliases,
        environment.name,
        ready.task.repo.rpartition("/")[2],
        *ready.scene.package_names,
    }
    prefix = "" if environment.subdir == "." else f"{environment.subdir}/"
    if project := ready.prepared.start_tree.get(f"{prefix}pyproject.toml"):
        names.add(_project_name(project.data))
    return tuple(sorted(names - {""}))


def _project_name(data: bytes) -> str:
    try:
        project = tomllib.loads(data.decode()).get("project")
    except ValueError:
        return ""
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) else ""


def markers_of(task: Task, start: Tree) -> tuple[str, ...]:
    """Pieces of the solution, each of them what a hunk leaves, that the sandbox does not hold."""
    pieces = {
        b"".join(_core(hunk.old, hunk.new))
        for section in parse(task.patch.encode())
        for hunk in section.hunks
    }
    here = [file.data for file in start.values()]
    new = (each for each in pieces if not any(each in data for data in here))
    texts = {each.decode(errors="ignore").strip("\n")[:_MAX_MARKER_CHARS] for each in new}
    long = [text for text in texts if len(text.strip()) >= _MIN_MARKER_CHARS]
    return tuple(sorted(long, key=lambda text: (-len(text), text))[:_MAX_MARKERS])


def _core(old: list[bytes], new: list[bytes]) -> list[bytes]:
    """The lines that a hunk leaves, with one around them that it only shows."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    rest = most - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return new[max(0, head - 1) : len(new) - max(0, tail - 1)]
