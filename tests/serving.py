"""Servers of sandboxes for tests: one in this process, one in a process of its own."""

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codegym.sandbox.remote import Remote
from codegym.sandbox.remote.dialing import Server
from codegym.server.listening import Options, listening
from codegym.store import LayerStore

CHECKOUT = Path(__file__).parents[1]
TOKEN = "a token of these tests alone"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass
class Serving:
    """A server in this process, and what it said."""

    address: object
    said: list
    store: LayerStore

    @property
    def server(self):
        return Server(self.address, TOKEN.encode())

    def client(self, store=None):
        return Remote(str(self.address), store)


@asynccontextmanager
async def serving(backend, *, store=None, host="127.0.0.1", port=0, max_sandboxes=16, **tls):
    """Serve on this loop; the client's ``capabilities`` would wait for it in vain."""
    said, store = [], store or LayerStore()
    options = Options(host, port, TOKEN.encode(), max_sandboxes, **tls)
    async with listening(backend, store, options, said.append) as address:
        yield Serving(address, said, store)


@contextmanager
def served(*options, port=0, env=None):
    """``codegym serve sandbox``; yields its process, with ``url``. Ended if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "codegym", "serve", "sandbox", "--json", f"--port={port}", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "CODEGYM_TOKEN": TOKEN, **(env or {})},
        start_new_session=True,
    )
    try:
        lines = []
        while not lines or lines[-1] != "}\n":
            line = process.stdout.readline()
            assert line, "it ended before it listened"
            lines.append(line)
        process.told = json.loads("".join(lines))
        process.url = process.told["url"]
        yield process
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def certificates(folder, name="IP:127.0.0.1"):
    """A CA, and a server's certificate and key that it signed: as the guide says it."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl(
        *("req", "-x509", *_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2"),
        *("-subj", "/CN=test CA", "-addext", "keyUsage=critical,keyCertSign"),
    )
    openssl("req", *_KEY, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server")
    (folder / "names").write_text(f"subjectAltName={name}\nauthorityKeyIdentifier=keyid\n")
    openssl(
        *("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key"),
        *("-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "names"),
    )
    return folder / "ca.pem", folder / "server.pem", folder / "server.key"
