"""What is missing or broken is said: what, where, and what next; it is never a policy's fault."""

import asyncio
import contextlib
import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from dataclasses import replace

import pytest
from docker_boxes import SHARED, engine

from codegym.errors import SandboxError, UnavailableError, UsageError
from codegym.sandbox.backends import pick
from codegym.sandbox.docker import Docker
from codegym.sandbox.docker.engine import _USUAL
from codegym.sandbox.docker.importing import ensure_image

pytestmark = [*SHARED, pytest.mark.slow]  # containers are started and ended by the dozen


async def test_no_engine(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(UnavailableError, match=r"none\.sock: .*No such file.*systemctl"):
        pick("docker")


async def test_an_engine_that_is_down(monkeypatch, tmp_path):
    with socketserver.UnixStreamServer(f"{tmp_path}/s", socketserver.BaseRequestHandler):
        pass
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    with pytest.raises(UnavailableError, match="Connection refused"):
        pick("docker")


class Refusing(http.server.BaseHTTPRequestHandler):
    """An engine whose proxy lets nobody in."""

    def do_GET(self):
        self.send_response(403)
        self.end_headers()
        self.wfile.write(b"access denied by policy")

    def address_string(self):
        return "here"

    def log_message(self, *_):
        pass


async def test_an_engine_that_refuses(monkeypatch, tmp_path):
    with socketserver.ThreadingUnixStreamServer(f"{tmp_path}/s", Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        try:
            with pytest.raises(UnavailableError, match="403"):
                pick("docker")
        finally:
            server.shutdown()
            thread.join()


async def test_a_runtime_that_is_not_there(docker_backend):
    with pytest.raises(UnavailableError, match=r"no runtime 'nothing'.*runc"):
        pick("docker:nothing")


async def test_a_runtime_is_passed_through(docker_spec):
    backend = pick("docker:runc")
    try:
        async with await backend.start(docker_spec) as box:
            assert (await box.shell("echo ok")).output == b"ok\n"
            told = backend.engine._api.inspect_container(box._unit.container)
            assert told["HostConfig"]["Runtime"] == "runc"
    finally:
        await backend.close()


async def test_an_image_that_was_removed_is_imported_again(docker_backend, docker_spec):
    """From the layers: no registry is ever asked."""
    image = replace(docker_spec.image, digest="x", layers=docker_spec.image.layers[1:])
    api = docker_backend.engine._api
    name = await docker_backend.image(image)
    try:
        api.remove_image(name)
        assert not docker_backend.engine.has_image(name)
        spec = replace(docker_spec, image=replace(image, digest="z", python="/usr/bin/python3"))
        assert ensure_image(docker_backend.engine, spec.image) == name
        assert docker_backend.engine.has_image(name)
    finally:
        api.remove_image(name)


async def test_an_image_without_python_is_said(docker_backend, docker_spec):
    image = replace(docker_spec.image, digest="y", python="")
    with pytest.raises(UnavailableError, match="no Python"):
        await docker_backend.start(replace(docker_spec, image=image))


async def test_a_python_that_is_not_there_is_infrastructure(docker_backend, docker_spec):
    image = replace(docker_spec.image, python="/usr/bin/none")
    with pytest.raises(SandboxError, match="none"):
        await docker_backend.start(replace(docker_spec, image=image))
    await docker_backend.settled()
    assert not docker_backend._boxes


async def test_a_file_in_a_folder_of_the_images_is_refused(docker_backend, docker_spec):
    with pytest.raises(UsageError, match="/etc/new"):
        await docker_backend.start(replace(docker_spec, files={"/etc/new": b"x"}))


async def test_a_layer_that_is_gone_is_infrastructure(docker_backend, docker_spec):
    missing = docker_spec.workspace.with_name("tree-0c0f0e77")
    with pytest.raises(SandboxError, match="pruned before"):
        await docker_backend.start(replace(docker_spec, workspace=missing))


class Between:
    """Stands between a gym and the engine, and goes away when told to."""

    def __init__(self, path, engine):
        self._engine, self._open = engine, []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._engine)
            self._open += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def go_away(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


# The SDK leaves a socket that could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_an_engine_that_goes_away_is_infrastructure(docker_spec, monkeypatch, tmp_path):
    with engine() as real:
        path = os.environ.get("DOCKER_HOST", _USUAL).removeprefix("unix://")
        between = Between(f"{tmp_path}/s", path)
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        backend = Docker()
        box = await backend.start(docker_spec)
        await backend.settled()
        owner = backend.engine.owner
        running = asyncio.ensure_future(box.exec(["/bin/sleep", "60"]))
        await asyncio.sleep(0.2)
        between.go_away()
        with pytest.raises(SandboxError):
            await running
        with pytest.raises(SandboxError):
            await box.shell("echo lost")
        with pytest.raises(SandboxError):
            await backend.start(docker_spec)
        await box.stop()
        await backend.close()
        left = [each for each in real._ours() if each.owner == owner]
        assert left
        real.sweep(left)


@pytest.fixture
def small_engine(tmp_path_factory):
    """An engine of its own, whose disk has 48 MB."""
    if os.getuid() or not shutil.which("dockerd"):
        pytest.skip("an engine of one's own takes root and dockerd")
    folder = tmp_path_factory.mktemp("e")
    (folder / "data").mkdir()
    host = f"unix://{folder}/s"
    command = (
        f"mount -t tmpfs -o size=48m none {folder}/data && exec dockerd --data-root {folder}/data"
        f" --exec-root {folder}/x -p {folder}/pid -H {host} --bridge=none --iptables=false"
        " --ip6tables=false --ip-forward=false"
    )
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", command], stdout=log, stderr=log
        )
    try:
        for _ in range(600):
            asked = ["docker", "-H", host, "version"]
            if not subprocess.run(asked, capture_output=True, check=False).returncode:
                break
            time.sleep(0.1)
        yield host
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.root
async def test_a_full_disk_is_said_with_what_frees_it(small_engine, docker_spec, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", small_engine)
    backend = pick("docker")
    try:
        with pytest.raises(UnavailableError, match=r"disk .* is full.*no space left.*prune"):
            await backend.start(docker_spec)
    finally:
        await backend.close()
