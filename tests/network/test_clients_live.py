"""Clients as people have them, through the proxy: by the variables that a sandbox gets, alone."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from proxy_parts import ORIGIN, SINK, certificates, interpreter, servers

from codegym.network import NetworkPolicy, ProxyConfig
from codegym.network.clients import CERTIFICATE, variables
from codegym.network.ways import Ways
from codegym.sandbox.egress import EGRESS_PORT, Gate

__all__ = ["certificates", "interpreter", "servers"]
pytestmark = [pytest.mark.network, pytest.mark.slow]

REQUESTS = "import requests; print(requests.get({url!r}, timeout=20).status_code)"
HTTPX = "import httpx; print(httpx.get({url!r}, timeout=20).status_code)"
URLLIB = "import urllib.request as u; print(u.urlopen({url!r}, timeout=20).status)"
#: Each client's command; `{url}` is an address at an origin. Those that speak to a registry are
#: content with having asked: the origin is none.
CLIENTS = {
    "curl": ["curl", "-s", "-o", "/dev/null", "-w", "%{{http_code}}", "{url}"],
    "git": ["git", "ls-remote", "{url}x.git"],
    "npm": ["npm", "view", "x", "--registry", "{url}", "--fetch-retries=0"],
    "cargo": ["cargo", "search", "--registry", "x", "x"],
    "urllib": [sys.executable, "-c", URLLIB],
    "requests": [sys.executable, "-c", REQUESTS],
    "httpx": [sys.executable, "-c", HTTPX],
    "pip": [sys.executable, "-m", "pip", "download", "--no-deps", "-i", "{url}", "x"],
    "uv": ["uv", "pip", "compile", "--no-cache", "--index-url", "{url}", "in.txt"],
    "go": ["go", "list", "-m", "origin.test.example/x@v1.0.0"],
}
MODULES = ("requests", "httpx")
RUSTUP = Path.home() / ".rustup"


@pytest.fixture
async def told(tmp_path, certificates, servers, interpreter):
    """The variables of a way out to the origin, which is open."""
    ports = [server.port for server in servers]
    text = f'[[allow]]\nname = "origin"\nhosts = ["{ORIGIN}"]\nports = {ports}\n'
    config = ProxyConfig(
        certificates["trusted"],
        dict.fromkeys((ORIGIN, SINK), "127.0.0.1"),
        tuple(f"127.0.0.1:{port}" for port in ports),
    )
    opener = Ways(config)
    way = await asyncio.to_thread(opener.open, NetworkPolicy(tmp_path / "p.toml", text, ()), {})
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    gate = Gate(listener, way.socket)
    (tmp_path / "ca.pem").write_text(way.certificate)
    for server in servers:
        server.accepted, server.asked[:] = 0, []
    yield {
        name: value.replace(f":{EGRESS_PORT}", f":{port}").replace(
            CERTIFICATE, str(tmp_path / "ca.pem")
        )
        for name, value in variables({}, {}, pip=False).items()
    }
    gate.close()
    await asyncio.to_thread(way.close)
    await asyncio.to_thread(opener.close)


def command_of(client, url):
    found = [word.format(url=url) for word in CLIENTS[client]]
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which(found[0], path=beside)
    if program is None:
        pytest.skip(f"NO {client} HERE")
    found[0] = program
    if client in MODULES:
        pytest.importorskip(client)
    return found


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_gets_where_the_policy_lets_it_and_not_elsewhere(
    client, told, servers, tmp_path
):
    origin, sink = servers
    (tmp_path / "in.txt").write_text("x\n")

    async def ask(server, name):
        url = f"https://{name}:{server.port}/"
        env = told | {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "CARGO_REGISTRIES_X_INDEX": f"sparse+{url}",
            "GOPROXY": url,
            "GOSUMDB": "off",
        }
        if client == "cargo":  # a stand-in of a version manager needs to know where it is
            env["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", str(RUSTUP))
        ran = await asyncio.to_thread(
            subprocess.run,
            command_of(client, url),
            env=env,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return f"{ran.stdout.decode()[-300:]} {ran.stderr.decode()[-600:]}"

    said = await ask(origin, ORIGIN)
    assert origin.asked, said
    reached = origin.accepted
    said = await ask(sink, SINK)
    assert (sink.accepted, origin.accepted) == (0, reached), said
