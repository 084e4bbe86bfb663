"""Untouched pip and npm, by way of the proxy: what they choose is what there was."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from registries import NpmRegistry

from codegym.network import Proxy, ProxyConfig
from codegym.network.registries import registry_addresses
from codegym.sandbox.egress import forward

pytestmark = pytest.mark.network

ORIGIN, FILES = "origin.test.example", "sink.test.example"
AS_OF, EARLY, LATE = "2020-01-01T00:00:00Z", "2019-06-01T00:00:00Z", "2020-06-01T00:00:00Z"
POLICY = '[[allow]]\nname = "index"\nregistry = "{kind}"\nas_of = "task"\n'


@pytest.fixture
def relayed():
    """Makes a port of a way out, as a sandbox has one on its loopback."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    servers, held = [], set()

    async def listening(target):
        async def relay(reader, writer):
            held.add(asyncio.current_task())  # nothing else does while it waits for the proxy
            await forward(reader, writer, target)

        return await asyncio.start_server(relay, "127.0.0.1", 0)

    async def ended():
        for server in servers:
            server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def port(way):
        made = listening(way.folder / "proxy.sock")
        servers.append(asyncio.run_coroutine_threadsafe(made, loop).result())
        return servers[-1].sockets[0].getsockname()[1]

    yield port
    asyncio.run_coroutine_threadsafe(ended(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def client(relayed, tmp_path):
    """Runs a client whose only way out is an episode's."""

    def run(way, *command):
        there, trusted = f"http://127.0.0.1:{relayed(way)}", tmp_path / f"{way.name}.pem"
        trusted.write_text(way.certificate)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "HTTPS_PROXY": there,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_CERT": str(trusted),
            "PIP_RETRIES": "0",
            "npm_config_cafile": str(trusted),
            "npm_config_cache": str(tmp_path / "npm"),
            "npm_config_fetch_retries": "0",
        }
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


def pip_download(address, *what):
    options = ("--no-cache-dir", "--no-deps", "--only-binary", ":all:", "-i", address)
    return (sys.executable, "-m", "pip", "download", *options, *what)


def test_pip_chooses_what_there_was(index, registry, opened, proxy, client, tmp_path):
    index.add_wheel("dep", "1.0", EARLY, requires=["other<2"])
    index.add_wheel("dep", "1.1", LATE)
    index.add_wheel("other", "1.0", EARLY)
    index.add_wheel("other", "1.1", EARLY, **{"upload-time": ...})
    index.add_wheel("tested", "1.0", EARLY)
    address = f"https://{ORIGIN}:{registry[0].port}/simple/"
    more = {"registries": {"pip": [address]}, "as_of": AS_OF, "denied": ["Tested"]}
    way = opened(proxy, POLICY.format(kind="pip"), registry, **more)
    command = [sys.executable, "-m", "pip", "install", "--no-cache-dir", "-i", address]
    ran = client(way, *command, "--target", str(tmp_path / "t"), "dep")
    assert ran.returncode == 0, ran.stderr
    got = sorted(each.name for each in (tmp_path / "t").glob("*.dist-info"))
    assert got == ["dep-1.0.dist-info", "other-1.0.dist-info"]
    file = index.entries["tested"][0]
    link = f"{address}tested/{file['hashes']['sha256']}/{file['filename']}"
    for asked in (
        "tested",
        "tested==1.0",
        f"tested @ {link}",
        "dep==1.1",
        "git+https://x.example/y",
    ):
        ran = client(way, *pip_download(address, asked))
        assert ran.returncode != 0, asked
    assert not any("tested" in path for _, path, _ in registry[0].asked + registry[1].asked)


def test_npm_chooses_what_there_was(registry, opened, proxy, client, tmp_path):
    if not shutil.which("npm"):
        pytest.skip("NO NPM")
    registry[0].pages = {}
    address = f"https://{ORIGIN}:{registry[0].port}/"
    npm = NpmRegistry(registry[0].pages, address.rstrip("/"))
    npm.add("dep", "1.0.0", EARLY, dependencies={"@x/other": "^1.0.0"})
    npm.add("dep", "1.1.0", LATE)
    npm.add("@x/other", "1.0.0", EARLY)
    npm.add("@x/other", "1.0.1", None)
    npm.add("tested", "1.0.0", EARLY)
    more = {"registries": {"npm": [address]}, "as_of": AS_OF, "denied": ["tested"]}
    way = opened(proxy, POLICY.format(kind="npm"), registry, **more)
    install = ("npm", "install", "--registry", address, "--no-audit", "--no-fund")
    ran = client(way, *install, "dep")
    assert ran.returncode == 0, ran.stderr
    lock = json.loads((tmp_path / "package-lock.json").read_text())["packages"]
    got = {path: each["version"] for path, each in lock.items() if path}
    assert got == {"node_modules/dep": "1.0.0", "node_modules/@x/other": "1.0.0"}
    for asked in ("tested", f"{address}tested/-/tested-1.0.0.tgz", "dep@1.1.0", "npm-x@npm:tested"):
        assert client(way, *install, asked).returncode != 0, asked
    assert not any("tested" in path for _, path, _ in registry[0].asked)


def test_many_streams_of_one_http2_connection_are_answered(
    index, registry, opened, proxy, client, tmp_path
):
    if (
        "HTTP2"
        not in subprocess.run(["curl", "-V"], capture_output=True, text=True, check=False).stdout
    ):
        pytest.skip("NO CURL WITH HTTP/2")
    address = f"https://{ORIGIN}:{registry[0].port}"
    names = [f"dep-{number}" for number in range(12)]
    for name in names:
        index.add_wheel(name, "1.0", EARLY)
    more = {"registries": {"pip": [f"{address}/simple/"]}, "as_of": AS_OF, "denied": ["dep-3"]}
    way = opened(proxy, POLICY.format(kind="pip"), registry, **more)
    asked = [part for name in names for part in ("-o", name, f"{address}/simple/{name}/")]
    trusted = ("--cacert", str(tmp_path / f"{way.name}.pem"))
    told = ("-w", "%{http_version} %{http_code}\n", "-sZ", "--http2")
    ran = client(way, "curl", *trusted, *told, *asked)
    assert sorted(ran.stdout.split("\n")) == ["", *["2 200"] * 11, "2 404"]
    assert all(name in (tmp_path / name).read_text() for name in names if name != "dep-3")


# The registries that this machine's own clients use ----------------------------------------------


@pytest.fixture(scope="module")
def outside(interpreter):
    """A proxy that may reach this machine's registries, even if they are not public."""
    addresses = registry_addresses(["pip", "npm"])
    found = set()
    for each in (address for some in addresses.values() for address in some):
        host, port = urlsplit(each).hostname, urlsplit(each).port or 443
        try:
            found |= {f"{to[0]}:{port}" for *_, to in socket.getaddrinfo(host, port)}
        except OSError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"NO REGISTRY: {host}: {error}")
    trusted = os.environ.get("SSL_CERT_FILE")
    config = ProxyConfig(Path(trusted) if trusted else None, {}, tuple(sorted(found)))
    with Proxy(interpreter.python, config) as running:
        yield running, addresses


@pytest.fixture
def real(outside, opened):
    """Opens an episode with a registry of this machine."""
    proxy, addresses = outside

    def make(kind, as_of, **more):
        more |= {"registries": {kind: addresses[kind]}, "as_of": as_of}
        return opened(proxy, POLICY.format(kind=kind), **more), addresses[kind][0]

    return make


@pytest.mark.parametrize(
    ("as_of", "version"), [("2020-01-01T00:00:00Z", "1.13.0"), ("2021-01-01T00:00:00Z", "1.15.0")]
)
def test_a_real_index_is_as_of_a_date(real, client, tmp_path, as_of, version):
    way, address = real("pip", as_of)
    ran = client(way, *pip_download(address, "six"))
    assert ran.returncode == 0, ran.stderr
    assert [each.name for each in tmp_path.glob("*.whl")] == [f"six-{version}-py2.py3-none-any.whl"]


def test_a_real_index_has_nothing_of_what_is_denied(real, client, tmp_path):
    way, address = real("pip", "2020-01-01T00:00:00Z", denied=["SIX"])
    for asked in ("six", "six==1.12.0"):
        assert client(way, *pip_download(address, asked)).returncode != 0
    assert list(tmp_path.glob("*.whl")) == []


def test_a_real_npm_registry_is_as_of_a_date(real, client, tmp_path):
    now, address = real("npm", "9999-01-01T00:00:00Z")
    npm = ("npm", "--registry", address)
    times = json.loads(client(now, *npm, "view", "isarray", "time", "--json").stdout)
    last = max((each for each in times if each[0].isdigit()), key=times.__getitem__)
    then, _ = real("npm", times[last])
    ran = client(then, *npm, "view", "isarray", "versions", "--json")
    assert set(json.loads(ran.stdout)) == {each for each in times if each[0].isdigit()} - {last}
    assert client(then, *npm, "pack", f"isarray@{last}").returncode != 0
    assert client(then, *npm, "pack", "isarray").returncode == 0
    assert len(list(tmp_path.glob("isarray-*.tgz"))) == 1
