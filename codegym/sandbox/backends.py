"""Choosing a backend by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.base import Backend
from codegym.store import LayerStore

_BUILTIN = {
    "bubblewrap": "codegym.sandbox.bubblewrap:Bubblewrap",
    "docker": "codegym.sandbox.docker:Docker",
}
_AUTO = ("bubblewrap", "docker")
_REMOTE, _DOCKER = "remote:", "docker:"

_Factory = Callable[[LayerStore | None], Backend]


_DOCKERFILE = "+dockerfile"


def split(sandbox: str) -> tuple[str, str]:
    """A backend's name, and the root that overrides environments' own (``image.root``), or ``""``.

    ``NAME+dockerfile``: sandboxes start from what the environments' Dockerfiles make.
    """
    name = sandbox.removesuffix(_DOCKERFILE)
    return name, "dockerfile" if name != sandbox else ""


def pick(name: str = "auto", *, store: LayerStore | None = None) -> Backend:
    """Return a backend; call it within a running event loop.

    Args:
        name: A backend's name, ``module:attr``, ``remote:URL`` for those of a server,
            ``docker:RUNTIME`` for one of the engine's runtimes, or ``"auto"``: the first that
            works here.
        store: Where its layers are.

    Raises:
        UnavailableError: It does not work here; says how to mend that. Nothing is ever run
            unisolated instead.
    """
    from codegym.plugins import load

    names = _AUTO if name == "auto" else (name,)
    problems: list[UnavailableError] = []
    for each in names:
        made = _with_argument(each) or load("sandboxes", each, _BUILTIN)
        if not callable(made):
            raise UsageError(f"sandbox {each!r} is not a backend")
        backend = cast("Backend", made(store))
        try:
            backend.capabilities()
        except UnavailableError as error:
            problems.append(error)
            continue
        return backend
    raise problems[0]


def _with_argument(name: str) -> _Factory | None:
    """What makes the backend of ``remote:URL`` or ``docker:RUNTIME``; None for other names."""
    if name.startswith(_REMOTE):
        from codegym.sandbox.remote import Remote

        return lambda store: Remote(name.removeprefix(_REMOTE), store)
    if name.startswith(_DOCKER):
        from codegym.sandbox.docker import Docker

        return lambda store: Docker(store, name.removeprefix(_DOCKER))
    return None
