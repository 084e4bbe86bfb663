"""Runs the proxy: ``python -I proxy/__main__.py``, in an interpreter that has mitmproxy.

The first line of its input is its configuration, a JSON object: ``control`` (path of the control
socket), ``log`` (path for messages), ``upstream_ca`` (PEM file, or null), ``hosts`` (addresses of
names) and ``private`` (each ``ADDRESS:PORT`` that may be connected to although it is not public).
It answers with one line when it is ready, and ends when its input does: so it never outlives
whoever started it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxy.guard import GuardedLoop


async def run(config: dict[str, Any], loop: GuardedLoop) -> None:
    """Serve until the input ends."""
    from mitmproxy.version import VERSION

    from proxy.certificates import strict_options
    from proxy.control import Control

    if sys.version_info >= (3, 12):
        loop.set_task_factory(asyncio.eager_task_factory)
    control = Control(strict_options(config["upstream_ca"]), loop.inner)
    server = await control.serve(Path(config["control"]))
    sys.stdout.write(json.dumps({"ready": True, "mitmproxy": VERSION}) + "\n")
    sys.stdout.flush()
    try:
        await _end_of_input(loop)
    finally:
        server.close()
        control.close()


async def _end_of_input(loop: asyncio.AbstractEventLoop) -> None:
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass


def _first_line(descriptor: int) -> bytes:
    """Read a line and no more: what follows belongs to the event loop."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line


def main() -> None:
    """Read the configuration, then serve."""
    from proxy.guard import GuardedLoop

    config = json.loads(_first_line(sys.stdin.fileno()))
    # Clients can cause messages, so what is kept of them is bounded.
    kept = RotatingFileHandler(config["log"], maxBytes=1 << 20, backupCount=1)
    logging.basicConfig(level=logging.WARNING, handlers=[kept])
    private = frozenset(config["private"])
    loop = GuardedLoop(config["hosts"], private)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run(config, loop))


if __name__ == "__main__":
    # At the end, so that nothing beside this folder takes the place of an installed module.
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    main()
