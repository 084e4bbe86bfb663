"""A repository with all that makes repositories hard, from a git server that speaks TLS."""

import http.server
import os
import ssl
import subprocess
import threading

import pytest
from support import git

from codegym import authoring
from codegym.authoring.packages.repositories import export
from codegym.errors import UnavailableError
from codegym.tasks.sources import environment
from codegym.workspace.history import open_history

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"
PYPROJECT = """\
[build-system]
requires = ["setuptools", "setuptools-scm>=8"]
build-backend = "none_such"
[project]
name = "hard"
dynamic = ["version"]
[tool.setuptools_scm]
version_file = "src/hard/_version.py"
"""
TESTS = """\
import importlib.metadata
import pathlib

import hard

HERE = pathlib.Path(__file__).parent


def test_double():
    assert hard.double(2) == 4


def test_version():
    assert hard.__version__ == importlib.metadata.version("hard") == "1.3.dev1"


def test_large_file():
    assert (HERE / "large.bin").read_bytes() == b"real content"


def test_submodule():
    import in_submodule
"""


class GitHandler(http.server.BaseHTTPRequestHandler):
    """Git's own server program, behind HTTP."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        env = {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "REQUEST_METHOD": self.command,
            "PATH": os.environ["PATH"],
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        ran = subprocess.run(
            ["git", "http-backend"], input=body, env=env, capture_output=True, check=False
        )
        head, _, data = ran.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for key, value in fields.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def origin(tmp_path):
    """Serves bare repositories; yields where they lie, the address, and the authority's file."""
    certificate, key = tmp_path / "ca.pem", tmp_path / "key.pem"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-nodes", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"),
        *("-keyout", str(key), "-out", str(certificate)),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("NO openssl TO MAKE A CERTIFICATE WITH")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHandler)
    server.root = tmp_path / "served"
    server.root.mkdir()
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.root, f"https://127.0.0.1:{server.server_address[1]}", certificate
    server.shutdown()
    server.server_close()


@pytest.fixture
def hard(tmp_path, origin):
    """The address of one with a submodule, tags, a pointer of LFS and a version by tag."""
    root, address, _ = origin
    inner, folder = tmp_path / "inner", tmp_path / "hard"
    files = {
        inner: {"in_submodule.py": "x = 1\n"},
        folder: {
            "pyproject.toml": PYPROJECT,
            ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
            "src/hard/__init__.py": "from hard._version import version as __version__\n\n\n"
            "def double(number):\n    return number + number\n",
            "tests/test_hard.py": TESTS,
            "tests/large.bin": LFS,
        },
    }
    for where, contents in files.items():
        for name, text in contents.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).write_text(text)
        git(where, "init", "-q", "-b", "main")
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", "one")
    git(folder, "tag", "v1.2")
    allowed = ("-c", "protocol.file.allow=always")
    git(folder, *allowed, "submodule", "--quiet", "add", str(inner), "tests/sub")
    git(folder, "commit", "-q", "-m", "two")
    git(folder, "tag", "latest")
    git(tmp_path, "clone", "-q", "--bare", str(folder), str(root / "hard.git"))
    return f"{address}/hard.git"


@pytest.fixture
def trusted(origin, tmp_path, monkeypatch):
    """The authority is named where users name it."""
    home = tmp_path / "users"
    home.mkdir()
    (home / "ca.pem").write_bytes(origin[2].read_bytes())
    (home / ".gitconfig").write_text(f'[http "{origin[1]}"]\n\tsslCAInfo = ~/ca.pem\n')
    monkeypatch.setenv("HOME", str(home))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO"):  # the second would win
        monkeypatch.delenv(name, raising=False)


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home", "trusted")
async def test_a_hard_repository_by_https(setting, hard):
    added = await authoring.add_environment(hard, setting)
    assert (added.name, added.tests) == ("hard", 2)
    assert added.excluded == {
        "tests/test_hard.py::test_large_file": "fails",
        "tests/test_hard.py::test_submodule": "fails",
    }
    assert added.notes == (
        "1 file is a pointer of git LFS: their content is not here.",
        "Its submodules are not here: their folders are missing.",
    )
    home = environment("hard")
    assert [each.subject for each in open_history(home).commits(home.head)] == ["one", "two"]
    assert sorted(home.generated) == [
        "src/hard-1.3.dev1.dist-info/METADATA",
        "src/hard/_version.py",
    ]


def test_an_authority_that_nobody_named_is_not_trusted(hard, origin, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    with pytest.raises(UnavailableError, match="certificate"):
        export(hard)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(origin[2]))
    assert export(hard).described.startswith("v1.2-1-g")
    with pytest.raises(UnavailableError, match=r"cannot be cloned.*not found"):
        export(f"{origin[1]}/nothing.git")


def test_nothing_else_of_the_users_configuration_is_read(hard, trusted, tmp_path):
    mark = tmp_path / "mark"
    config = tmp_path / "users" / ".gitconfig"
    evil = f"[core]\n\thooksPath = {tmp_path}\n\tfsmonitor = touch {mark}\n"
    evil += f'[credential]\n\thelper = !touch {mark}\n[url "file:///no"]\n\tinsteadOf = https:\n'
    config.write_text(config.read_text() + evil)
    assert sorted(export(hard).tree)[0] == ".gitattributes"
    assert not mark.exists()
