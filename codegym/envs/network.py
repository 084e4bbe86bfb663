"""An episode's way out of its sandbox: opened before it, as of its task's date, closed with it."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.errors import TaskError, UsageError
from codegym.grading.ready import Ready
from codegym.network.clients import files, variables
from codegym.network.pip_wheel import pip_layer, wheel_of
from codegym.network.policy import NetworkPolicy, find_policy
from codegym.network.registries import registry_addresses
from codegym.network.ways import Keeping, Purpose, Way, ways
from codegym.sandbox.images import shared_functions
from codegym.sandbox.images.similarity import vendored
from codegym.store import LayerStore
from codegym.types import Image, SandboxSpec, Task, Tree
from codegym.workspace.patch import apply_patch
from codegym.workspace.unified import parse

#: The policy that opens no way at all.
NONE = "none"
#: A piece of a solution that is shorter could be anyone's.
_MIN_MARKER_CHARS = 24


class Network:
    """What episodes may reach, and how: their policy, and what it needs of this machine.

    Args:
        policy: What they may reach.

    Raises:
        DataError: It is wrong.
        UnavailableError: A registry that it names is not configured here, or pip not to be had.
    """

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy
        self._registries: Mapping[str, Sequence[str]] = registry_addresses(policy.registries)
        policy.check(self._registries)
        self._pip = "pip" in policy.registries
        self._purposes: dict[str, Purpose] = {}

    @classmethod
    def named(cls, name: str) -> Network | None:
        """Of the policy with a name or path; None for ``"none"``, which needs no proxy.

        Raises:
            UsageError: There is no such policy. Else as the class.
        """
        return None if name == NONE else cls(find_policy(name))

    def prepare(self) -> None:
        """Get what is missing on this machine; takes a while, once. Raises as ``open`` does."""
        ways().start()
        if self._pip:
            pip_layer(LayerStore())

    async def open(self, ready: Ready, keeping: Keeping) -> Way:
        """Open the way out of a task's episode.

        Args:
            ready: The task.
            keeping: What of it is kept.

        Raises:
            SandboxError: The proxy does not work.
            TaskError: What the policy brings into the sandbox holds the task's answer.
            UnavailableError: Something cannot be fetched.
        """
        opening = asyncio.ensure_future(asyncio.to_thread(self._open, ready, keeping))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_stray)  # a thread cannot be stopped
            raise

    def _open(self, ready: Ready, keeping: Keeping) -> Way:
        purpose = self._purpose(ready)
        try:
            return ways().open(self.policy, self._registries, purpose, keeping)
        except UsageError as error:  # the policy was checked: it is the task's date that is wrong
            raise TaskError(ready.task.instance_id, str(error)) from error

    def _purpose(self, ready: Ready) -> Purpose:
        """What a registry has to know of a task; found once, as a search through its tree is."""
        key = f"{ready.prepared.digest} {ready.task.created_at} {ready.task.patch}"
        if key not in self._purposes:
            if self._pip:
                _refuse_what_pip_holds(ready)
            self._purposes[key] = Purpose(
                as_of=ready.task.created_at or None,
                denied=_names(ready),
                markers=_markers(ready.task, ready.prepared.start_tree),
            )
        return self._purposes[key]

    def spec(self, spec: SandboxSpec, way: Way) -> SandboxSpec:
        """A sandbox's spec with a way out."""
        wheel = wheel_of(pip_layer(LayerStore())) if self._pip else b""
        return replace(
            spec,
            egress=way.socket,
            env={**spec.env, **variables(spec.image.env, way.registries, pip=self._pip)},
            files={**spec.files, **files(way.certificate, wheel)},
        )


async def check(way: Way, *, ended: bool) -> None:
    """Raise ``SandboxError`` where an episode's way out broke, through no doing of the agent's."""
    if not way.is_open:
        await asyncio.to_thread(way.check)
    if ended:
        await asyncio.to_thread(way.check_upstream)


def _close_stray(opening: asyncio.Future[Way]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


def _refuse_what_pip_holds(ready: Ready) -> None:
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


def _names(ready: Ready) -> tuple[str, ...]:
    """Names that the project under test may have on an index."""
    environment = ready.environment
    names = {environment.name, ready.task.repo.rpartition("/")[2], *ready.scene.package_names}
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


def _markers(task: Task, start: Tree) -> tuple[str, ...]:
    """Pieces of the solution, each of them what a hunk leaves, that the sandbox does not hold."""
    pieces = {
        b"".join(_core(hunk.old, hunk.new))
        for section in parse(task.patch.encode())
        for hunk in section.hunks
    }
    here = [file.data for file in start.values()]
    new = (each for each in pieces if not any(each in data for data in here))
    texts = (each.decode(errors="ignore").strip("\n") for each in new)
    return tuple(sorted(text for text in texts if len(text.strip()) >= _MIN_MARKER_CHARS))


def _core(old: list[bytes], new: list[bytes]) -> list[bytes]:
    """The lines that a hunk leaves, with one around them that it only shows."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    rest = most - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return new[max(0, head - 1) : len(new) - max(0, tail - 1)]
