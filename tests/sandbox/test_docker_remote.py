"""An engine that is reached over the network: no path of this machine means anything there."""

import contextlib
import os
import socket
import ssl
import subprocess
import threading

import pytest
from docker_boxes import SHARED

from codegym.sandbox.backends import pick
from codegym.sandbox.docker.engine import _USUAL
from codegym.types import Change

pytestmark = [*SHARED, pytest.mark.slow]

CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    " -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem"
    " && cp cert.pem ca.pem"
)


def carry(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def accept(listener, context, path):
    while True:
        try:
            near, _ = listener.accept()
            near = context.wrap_socket(near, server_side=True) if context else near
        except ssl.SSLError:
            continue
        except OSError:
            return
        threading.Thread(target=join, args=(near, path), daemon=True).start()


def join(near, path):
    with near, socket.socket(socket.AF_UNIX) as far:
        far.connect(path)
        outward = threading.Thread(target=carry, args=(near, far), daemon=True)
        outward.start()
        carry(far, near)
        outward.join()


@pytest.fixture(params=["tcp", "tls"])
def remote(request, tmp_path, monkeypatch, docker_backend):
    path = os.environ.get("DOCKER_HOST", _USUAL).removeprefix("unix://")
    if not path.startswith("/"):
        pytest.skip("the engine is a remote one already")
    context = None
    if request.param == "tls":
        subprocess.run(CERTIFICATE, shell=True, cwd=tmp_path, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # they would go before it
            monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener, context, path), daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://localhost:{listener.getsockname()[1]}")
        yield
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the relay's sockets
async def test_a_remote_engine_serves_as_a_local_one_does(remote, docker_spec):
    backend = pick("docker")
    try:
        async with await backend.start(docker_spec) as box:
            result = await box.shell("yes | head -c 3000000 | wc -c; echo x > f")
            assert result.output == b"3000000\n"
            async with await box.fork() as twin:
                assert (await twin.collect()).changes == (Change("f", b"x\n"),)
            assert (await box.collect()).changes == (Change("f", b"x\n"),)
    finally:
        await backend.close()
