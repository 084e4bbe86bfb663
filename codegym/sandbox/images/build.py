"""An environment's image: a root layer and a virtual environment, each made once and shared."""

from __future__ import annotations

import asyncio
import hashlib
import json
import posixpath
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from codegym.sandbox.base import Backend
from codegym.sandbox.images.docker import Exported, docker_root
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.publishing import publish
from codegym.sandbox.images.root import BUILDER, build_root, stamp
from codegym.sandbox.images.source import source_layer, tree_digest
from codegym.sandbox.images.toolchains import (
    toolchain_env,
    toolchain_layers,
    toolchain_stamp,
)
from codegym.sandbox.images.venv import VENV, VenvPlan, build_venv, require_secrets
from codegym.sandbox.images.wheels import fetch_wheels, pip_layer
from codegym.store import LayerStore
from codegym.tasks import Environment
from codegym.tasks.environment import FILE_NAME
from codegym.types import WORKSPACE, Image, Tree

#: Variables of every process in a sandbox; an environment's own come on top.
ENV = {
    "HOME": "/home/agent",
    "LANG": "C.UTF-8",
    "PATH": f"{VENV}/bin:/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TMPDIR": "/tmp",
}
_RECORD = "image.json"


@dataclass(frozen=True, slots=True)
class _Layers:
    """Keys of an image's layers."""

    root: str
    venv: str
    tools: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Topmost first."""
        return (self.venv, *self.tools, self.root)


def _silent(_: str) -> None:
    """Say nothing."""


async def build_image(
    environment: Environment,
    backend: Backend,
    *,
    store: LayerStore | None = None,
    tree: Tree | None = None,
    progress: Callable[[str], None] = _silent,
) -> Image:
    """Return an environment's image, building what is not in the cache.

    Safe for many tasks and processes at once: one builds, all get it. A cached image costs a few
    milliseconds.

    Args:
        environment: Its ``image`` says what is needed.
        backend: Starts the sandbox that the virtual environment is built in.
        store: Where layers are kept (the backend's store); by default the user's.
        tree: The repository, laid read-only at ``/workspace`` for the environment's ``install`` and
            ``build`` commands, whose effects on ``/opt/venv`` are kept. Not used where it has none.
        progress: Told, in words, what takes time.

    Raises:
        UnavailableError: This machine lacks something: a program, a package, a Python, the network.
        DataError: The environment's lock file is wrong, or a command of it failed.
        SandboxError: The sandbox broke.
    """
    store = store or LayerStore()
    if environment.image.root == "dockerfile":
        made = await docker_root(environment, store, progress)
        return dockerfile_image(environment, made, store)
    return await _Builder(environment, backend, store, tree, progress).image()


def dockerfile_image(environment: Environment, made: Exported, store: LayerStore) -> Image:
    """The image whose one layer was exported from Docker."""
    env = {**ENV, **made.env, **environment.image.env}
    digest = _hash(made.layer, json.dumps(sorted(env.items())))
    return Image(digest, (store.root / made.layer,), env, f"{VENV}/bin/python")


class _Builder:
    def __init__(
        self,
        environment: Environment,
        backend: Backend,
        store: LayerStore,
        tree: Tree | None,
        progress: Callable[[str], None],
    ) -> None:
        self._environment, self._spec = environment, environment.image
        self._backend, self._store, self._progress = backend, store, progress
        self._interpreter = Interpreter.running()
        self._interpreter.require(self._spec.python)
        commands = [("image.install", command) for command in self._spec.install]
        self._commands = (*commands, *(("image.build", command) for command in self._spec.build))
        self._tree = (tree or {}) if self._commands else {}
        lock = self._spec.requirements
        self._wanted = json.dumps(
            {
                "builder": BUILDER,
                "lock": lock.read_text(encoding="utf-8", errors="replace") if lock else "",
                "commands": self._commands,
                "tree": tree_digest(self._tree),
                "import_paths": self._import_paths(),
                "subdir": environment.subdir,
                "env": dict(sorted(self._spec.env.items())),
                "secrets": self._spec.build_secrets,
                "packages": self._spec.system_packages,
            }
            | ({"toolchains": self._spec.toolchains} if self._spec.toolchains else {})
        )

    async def image(self) -> Image:
        """The image, from the record of an earlier build where that still holds."""
        tools = await asyncio.to_thread(toolchain_stamp, self._spec.toolchains)
        request = f"image-{_hash(stamp(self._interpreter) + tools, self._wanted)}"
        record = await publish(self._store, request, self._record)
        found = json.loads((record / _RECORD).read_text())
        layers = _Layers(found["root"], found["venv"], tuple(found.get("tools", ())))
        if any(self._store.find(one) is None for one in layers.all):  # pruned
            layers = await self._build()
        return self._of(layers)

    async def _record(self, dest: Path) -> None:
        layers = await self._build()
        (dest / _RECORD).write_text(json.dumps(asdict(layers)))

    async def _build(self) -> _Layers:
        packages = self._spec.system_packages
        root = await asyncio.to_thread(build_root, self._interpreter, packages, self._store)
        names = self._spec.toolchains
        tools = await asyncio.to_thread(toolchain_layers, names, self._store)
        key = f"venv-{_hash(root.name, *(one.name for one in tools), self._wanted)}"
        await publish(self._store, key, lambda dest: self._venv(dest, [*tools, root]))
        return _Layers(root.name, key, tuple(one.name for one in tools))

    async def _venv(self, dest: Path, system: list[Path]) -> None:
        self._progress(f"building the image of {self._environment.name}")
        lock = self._spec.requirements
        wheels = await fetch_wheels(lock, self._interpreter, self._store, self._progress)
        below = [await asyncio.to_thread(pip_layer, self._store), *system]
        if self._tree:
            below.insert(0, await asyncio.to_thread(source_layer, self._tree, self._store))
        blame = self._environment.folder / FILE_NAME
        plan = VenvPlan(
            source=lock if lock and not self._commands else blame,
            commands=self._commands,
            import_paths=self._import_paths(),
            subdir=self._environment.subdir,
            secrets=require_secrets(self._spec.build_secrets),
        )
        image = Image(system[-1].name, tuple(below), self._env(), str(self._interpreter.executable))
        await build_venv(
            dest, plan, self._backend, image, wheels, self._interpreter, self._progress
        )

    def _of(self, layers: _Layers) -> Image:
        env = self._env()
        digest = _hash(layers.root, layers.venv, *layers.tools, json.dumps(sorted(env.items())))
        paths = tuple(self._store.root / one for one in layers.all)
        return Image(digest, paths, env, f"{VENV}/bin/python")

    def _env(self) -> dict[str, str]:
        return {**ENV, **toolchain_env(self._spec.toolchains), **self._spec.env}

    def _import_paths(self) -> tuple[str, ...]:
        project = posixpath.join(WORKSPACE, self._environment.subdir)
        paths = self._spec.import_paths
        return tuple(posixpath.normpath(posixpath.join(project, path)) for path in paths)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
