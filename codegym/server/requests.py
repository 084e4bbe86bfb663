"""What a client may ask for: values that a backend, or the programs it runs, would take amiss.

A backend is given these by the gym itself as a rule, and need not doubt them; here they come from
another machine, and one client's nonsense must not harm the others.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable
from dataclasses import astuple

from codegym.errors import SandboxError
from codegym.sandbox.remote import messages

_MOST = 1 << 40
_MAX_OUTPUT_BYTES = 64 << 20


def check_start(request: messages.Start) -> None:
    """Look at all of a start that is not a layer.

    Raises:
        SandboxError: A path, a variable or a limit cannot be.
    """
    for path in (request.mount, *request.files, *request.large):
        plain = path.startswith("/") and not path.startswith("//") and path != "/"
        if not plain or posixpath.normpath(path) != path:
            raise SandboxError(f"{path!r} is no plain absolute path")
    _check_text((request.mount, *request.files, *request.large, request.python))
    for variables in (request.env, request.image_env):
        _check_text((*variables, *variables.values()))
        if bad := [name for name in variables if not name or "=" in name]:
            raise SandboxError(f"{bad[0]!r} is no name of a variable")
    if not all(0 <= value <= _MOST for value in astuple(request.limits)):  # nor is NaN
        raise SandboxError(f"{request.limits} are no limits")


def check_command(request: messages.Shell | messages.Exec) -> None:
    """Look at a command's bounds. Raises ``SandboxError``."""
    in_time = 0 <= request.timeout_sec <= _MOST
    if not in_time or not 0 <= request.max_output_bytes <= _MAX_OUTPUT_BYTES:
        raise SandboxError(
            f"a command in {request.timeout_sec} s, with {request.max_output_bytes} bytes of "
            f"output, is none (at most {_MAX_OUTPUT_BYTES} bytes)"
        )


def _check_text(values: Iterable[str]) -> None:
    for value in values:
        try:
            good = b"\0" not in os.fsencode(value)
        except UnicodeEncodeError:
            good = False
        if not good:
            raise SandboxError(f"{value!r}: no path and no variable can be this")
