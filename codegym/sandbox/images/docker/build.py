"""Building an environment's Dockerfile, without a network, cached by content."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.sandbox.images.docker.context import Recipe, recipe
from codegym.sandbox.images.docker.engine import NO_SPACE, engine, explained
from codegym.sandbox.images.interpreter import PROBE, Interpreter
from codegym.sandbox.images.wheels import fetch_wheels, pip_layer
from codegym.store import LayerStore
from codegym.store.locks import locked
from codegym.tasks import Environment
from codegym.tasks.environment import FILE_NAME

if TYPE_CHECKING:
    from docker import DockerClient

#: What ``.ci/base-image`` makes.
DEFAULT_BASE = "codegym-base"
REPOSITORY = "codegym/environment"
_LABEL = "codegym.recipe"
_SHOWN_LINES = 12
_BAD_REQUEST = 400
_Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Built:
    """An image in the engine.

    Attributes:
        environment: Name of the environment.
        tag: Its name in the engine; the end of it hashes all that went in.
        id: The engine's own hash of it.
        megabytes: Its size, 10^6 bytes.
        seconds: What building took; 0 where it was there already.
    """

    environment: str
    tag: str
    id: str
    megabytes: float
    seconds: float = 0.0


async def build_docker_image(
    environment: Environment,
    *,
    base: str = DEFAULT_BASE,
    store: LayerStore | None = None,
    progress: _Progress,
) -> Built:
    """Return the image of an environment's Dockerfile, building it where its content is new.

    Args:
        environment: Its ``image.dockerfile`` is built.
        base: An image with git and a Python that the environment can use; pulled where the engine
            has it not.
        store: Where wheels are kept; by default the user's.
        progress: Told, in words, what is being done.

    Raises:
        UnavailableError: No engine, no base image, no room on its disk, or no wheels to fetch.
        DataError: A step of the Dockerfile failed, or the lock is wrong.
        UsageError: The environment has no Dockerfile, or needs its tree while it is built; or the
            base's name is none.
    """
    made = recipe(environment, dockerfile_of(environment))
    with engine() as client:
        base_id = await asyncio.to_thread(_base, client, base, progress)
        key = made.key(base_id)
        tag = f"{REPOSITORY}:{environment.name}-{key[:16]}"
        found = await asyncio.to_thread(_find, client, key, tag)
        if found is not None:
            return found
        began = time.perf_counter()
        interpreter = await asyncio.to_thread(_python, client, base, base_id)
        _require(interpreter, environment.image.python, base)
        kept = store or LayerStore()
        wheels = await fetch_wheels(environment.image.requirements, interpreter, kept, progress)
        pip = await asyncio.to_thread(pip_layer, kept)
        request = {
            "fileobj": made.context(wheels, pip),
            "tag": tag,
            "buildargs": {"BASE": base_id},
            "labels": {_LABEL: key},
        }

        def build() -> Built:
            with locked(kept.root / ".locks" / f"dockerfile-{key}", shared=False):
                found = _find(client, key, tag)  # another process was first
                if found is not None:
                    return found
                _build(client, made, base_id, request, progress)
            return _described(tag, client.images.get(tag), time.perf_counter() - began)

        return await asyncio.to_thread(build)


def dockerfile_of(environment: Environment) -> Path:
    """Its Dockerfile. Raises ``UsageError`` where none can be used."""
    spec, blame = environment.image, environment.folder / FILE_NAME
    if spec.dockerfile is None:
        raise UsageError(f"{blame}: {environment.name} has no image.dockerfile; name one")
    if spec.install or spec.build:
        raise UsageError(
            f"{blame}: image.install and image.build run in the tree, which no Docker image may "
            "ever hold; leave them out, or use the root that is made without a Dockerfile"
        )
    return spec.dockerfile


def list_docker_images() -> list[Built]:
    """The images in the engine that were built here, by name. Raises ``UnavailableError``."""
    with engine() as client:
        found = client.images.list(filters={"label": _LABEL})
        built = [_described(tag, image) for image in found for tag in image.tags]
    return sorted(built, key=lambda one: one.tag)


def _find(client: DockerClient, key: str, tag: str) -> Built | None:
    """The image of a recipe, which other environments may have, too."""
    for image in client.images.list(filters={"label": f"{_LABEL}={key}"}):
        image.tag(tag)
        return _described(tag, image)
    return None


def _described(tag: str, image: Any, seconds: float = 0.0) -> Built:
    environment = tag.rpartition(":")[2].rpartition("-")[0]
    return Built(environment, tag, image.id, image.attrs["Size"] / 1e6, seconds)


def _base(client: DockerClient, base: str, progress: _Progress) -> str:
    """The id of the base image."""
    from docker.errors import APIError, ImageNotFound

    try:
        return str(client.images.get(base).id)
    except ImageNotFound:
        progress(f"pulling {base}")
    except APIError as error:
        if error.status_code != _BAD_REQUEST:
            raise
        raise UsageError(
            f"--base {base!r} is no image's name ({error.explanation}); as one is: python:3.12"
        ) from error
    try:
        repository, tag = _split(base)
        return str(client.images.pull(repository, tag=tag).id)
    except APIError as error:
        raise UnavailableError(
            f"the engine has no image {base}, and it cannot be pulled: {error.explanation}",
            "Name one that it has or can pull (`--base python:3.12`), or make one of this machine's"
            f" Debian packages: `.ci/base-image {base}`, of CodeGym's repository",
        ) from error


def _split(name: str) -> tuple[str, str | None]:
    """Repository and tag; a digest stays with its repository. Without a tag, ``latest`` only."""
    repository, colon, tag = name.rpartition(":")
    if "@" in name:
        return name, None
    return (repository, tag) if colon and "/" not in tag else (name, "latest")


def _python(client: DockerClient, base: str, base_id: str) -> Interpreter:
    """The Python of an image; it starts without a network."""
    from docker.errors import APIError

    container = client.containers.create(
        base_id, ["-I", "-S", "-c", PROBE], entrypoint="python3", network_mode="none"
    )
    try:
        container.start()
        failed = container.wait()["StatusCode"] != 0
        told = container.logs(stdout=not failed, stderr=failed).decode(errors="replace")
    except APIError as error:
        failed, told = True, str(error.explanation)
    finally:
        container.remove(force=True)
    if failed:
        raise UnavailableError(
            f"the base image {base} has no python3 that runs: {told.strip()[-500:]}",
            "Name one that has Python 3.11 or newer: `--base`",
        )
    executable, prefix, stdlib, (major, minor, micro) = json.loads(told)
    return Interpreter(Path(executable), Path(prefix), Path(stdlib), (major, minor, micro))


def _require(interpreter: Interpreter, wanted: str, base: str) -> None:
    try:
        interpreter.require(wanted)
    except UnavailableError as error:
        has = ".".join(map(str, interpreter.version))
        raise UnavailableError(
            f"the environment needs Python {wanted}, and the base image {base} has {has}",
            "Name one that has such a Python: `--base`",
        ) from error


def _build(
    client: DockerClient, made: Recipe, base_id: str, request: dict[str, Any], progress: _Progress
) -> None:
    from docker.errors import APIError

    told: list[str] = []
    layers: list[str] = []
    failed = ""
    try:
        for event in client.api.build(
            **request, custom_context=True, network_mode="none", rm=True, forcerm=True, decode=True
        ):
            failed = failed or str(event.get("error", ""))
            for line in str(event.get("stream", "")).splitlines():
                if layer := re.fullmatch(r" ---> ([0-9a-f]{12})", line):
                    layers.append(layer[1])
                else:
                    told.append(line.rstrip())
                if line.startswith("Step "):
                    progress(line)
    except APIError as error:
        if error.response is None or error.status_code != _BAD_REQUEST:
            raise
        error.response.close()
        failed = str(error.explanation)  # the file as a whole cannot be read
    finally:
        _remove_untagged(client, layers, base_id)
    if NO_SPACE in failed:
        raise explained(failed)
    if failed:
        step = next((line for line in reversed(told) if line.startswith("Step ")), "reading it")
        last = "\n".join([*told[-_SHOWN_LINES:], failed])
        raise DataError(made.dockerfile, f"{step} failed:\n{last}")


def _remove_untagged(client: DockerClient, layers: list[str], base_id: str) -> None:
    """Remove what steps made on the way: it held wheels, an installer, and the base."""
    from docker.errors import APIError

    for layer in reversed(layers):
        try:
            image = client.images.get(layer)
            if not image.tags and image.id != base_id:
                client.images.remove(image.id)
        except APIError:  # gone with another, or part of the image, or another build's, too
            continue
