"""Environments with histories of one's own, real sandboxes, and an index on this machine."""

import hashlib
import http.server
import io
import os
import shutil
import tarfile
import threading

import pytest
from support import git, make_tiny_environment

from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.tasks import load_environment


@pytest.fixture
async def setting():
    made = Setting(pick())
    yield made
    await made.close()


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """An empty folder of the user's, in which the tests run."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def tiny(at_home):
    """The tiny environment, at a place where its name is known; no tasks yet."""
    return make_tiny_environment(at_home / ".codegym" / "environments" / "tiny")


@pytest.fixture
def with_commits(tiny, tmp_path):
    """Adds commits (message and files; None deletes) to tiny's history."""

    def add(*commits, timeout_sec=60.0):
        repository = tmp_path / "repository"
        repository.mkdir()
        git(repository, "init", "-q", "-b", "main")
        git(repository, "fast-import", "--quiet", stdin=tiny.history.read_text())
        git(repository, "reset", "-q", "--hard", "main")
        for day, (message, files) in enumerate(commits, start=1):
            for name, text in files.items():
                path = repository / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink() if text is None else path.write_text(text)
            git(repository, "add", "-A")
            date = f"2024-02-{day:02}T12:00:00+0000"
            git(repository, "commit", "-q", "-m", message, date=date)
        head = git(repository, "rev-parse", "HEAD").strip()
        tiny.history.write_text(git(repository, "fast-export", "main"))
        toml = tiny.folder / "environment.toml"
        text = toml.read_text().replace(tiny.head, head)
        toml.write_text(text.replace("timeout_sec = 60.0", f"timeout_sec = {timeout_sec}"))
        shutil.rmtree(repository)
        return load_environment(tiny.folder)

    return add


def archive(files, *, folder="pkg-1.0", extra=()) -> bytes:
    """A source distribution: path to text, all in one folder, and entries as they are."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime = len(data), 1_700_000_000
            tar.addfile(entry, io.BytesIO(data))
        for entry, data in extra:
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return raw.getvalue()


@pytest.fixture
def sdist():
    """Makes source distributions."""
    return archive


@pytest.fixture
def serve_files(tmp_path, monkeypatch):
    """Publishes archives on a ``file:`` index that pip is told of, beside its own."""
    root = tmp_path / "index"
    before = os.environ.get("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{before} {root.as_uri()}/".strip())

    def publish(name: str, filename: str, data: bytes, sha256: str = "") -> None:
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / filename).write_bytes(data)
        digest = sha256 or hashlib.sha256(data).hexdigest()
        page = folder / "index.html"
        listed = page.read_text() if page.exists() else ""
        page.write_text(f'{listed}<a href="{filename}#sha256={digest}">{filename}</a>\n')

    return publish


@pytest.fixture(scope="session")
def index():
    """Needs the index that the user's pip uses. Where CI says so, it must be there."""
    from codegym.authoring.packages.fetching import Fetcher
    from codegym.errors import UnavailableError
    from codegym.network.pip_settings import pip_settings

    try:
        settings = pip_settings()
        for address in settings.indexes[:1]:
            Fetcher(settings).get(f"{address}toolz/", max_bytes=64 * 1024**2)
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NO PACKAGE INDEX IS REACHABLE: {error}")


class Server(http.server.ThreadingHTTPServer):
    """Answers from a table of path to (status, media type, body); notes what was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked = {}, []

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        status, kind, body = self.server.pages.get(self.path, (404, "text/plain", b""))
        self.send_response(status)
        if status in (301, 302):
            self.send_header("Location", body)
            body = b""
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def start():
    running = []

    def one():
        server = Server()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        return server

    yield one
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server(start):
    return start()
