"""Starts what tests need beside them: again for each sandbox, fork and grade."""

from __future__ import annotations

import asyncio
import shlex
import time

from codegym.sandbox.base import Sandbox
from codegym.tasks import Environment, Service

READY_SEC = 30.0
_POLL_SEC = 0.02


async def start_services(box: Sandbox, environment: Environment) -> str:
    """Start an environment's services and wait until they are ready.

    Returns:
        ``""``, or which one is not ready and why. Whose fault that is depends on whose files it
        runs from: at a policy's start the environment's, in a grade the policy's.

    Raises:
        SandboxError: The infrastructure broke.
    """
    for service in environment.services:
        if problem := await _start(box, service):
            return f"service {service.name}: {problem}"
    return ""


async def _start(box: Sandbox, service: Service) -> str:
    # A session of its own: an interrupt that a policy sends to its shell does not reach it.
    command = f"setsid /bin/sh -c {shlex.quote(service.start)} </dev/null >/dev/null 2>&1 &"
    await box.exec(["/bin/sh", "-c", command])
    deadline = time.monotonic() + READY_SEC
    while True:
        result = await box.exec(["/bin/sh", "-c", service.ready], timeout_sec=READY_SEC)
        if result.exit_code == 0:
            return ""
        if time.monotonic() > deadline:
            said = result.output.decode(errors="replace").strip()[-300:]
            return f"not ready after {READY_SEC:.0f} s; `{service.ready}` said: {said}"
        await asyncio.sleep(_POLL_SEC)
