"""Libraries that are installed with an extra."""

from __future__ import annotations

from importlib.util import find_spec

from codegym.errors import UnavailableError


def require_extra(extra: str, *modules: str) -> None:
    """Say in one line which extra is missing, before anything is imported.

    Raises:
        UnavailableError: One of the modules cannot be found.
    """
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"{', '.join(missing)} is not installed", f"Install it: pip install 'codegym[{extra}]'"
        )
