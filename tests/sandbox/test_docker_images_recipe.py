"""What a build is given, and what is said where there is no engine to give it to."""

import asyncio
import json
import socket
import tarfile
import threading
from dataclasses import replace

import pytest
from support import make_tiny_environment

from codegym.errors import DataError, UnavailableError
from codegym.sandbox.images.docker import build_docker_image, docker_root, list_docker_images
from codegym.sandbox.images.docker.context import recipe
from codegym.sandbox.images.docker.engine import explained
from codegym.sandbox.images.settling import EPOCH_SEC
from codegym.sandbox.images.wheels import FOLDER, PIP
from codegym.store import LayerStore
from codegym.tasks import load_environment


@pytest.fixture
def tiny(tmp_path):
    return make_tiny_environment(tmp_path / "tiny")


def made_of(environment):
    return recipe(environment, environment.image.dockerfile)


def layers(folder):
    """Wheels and pip as they lie in the store."""
    wheels, pip = folder / "wheels", folder / "pip"
    for path in (wheels / FOLDER / "wheels/x.whl", pip / PIP.lstrip("/") / "pip/__main__.py"):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    bytecode = pip / PIP.lstrip("/") / "pip/__pycache__/x.pyc"
    bytecode.parent.mkdir()
    bytecode.write_bytes(b"x")
    return wheels, pip


def test_the_context_is_the_dockerfile_and_one_folder_and_nothing_of_the_tasks(tiny, tmp_path):
    (tiny.folder / "tasks.jsonl").write_text("{}")
    context = made_of(tiny).context(*layers(tmp_path))
    with tarfile.open(fileobj=context) as tar:
        names = tar.getnames()
        assert {(one.mtime, one.uid, one.gid, one.uname, one.mode) for one in tar} == {
            (EPOCH_SEC, 0, 0, "", 0o644)
        }
    assert names == sorted(names)
    assert names == [
        "Dockerfile",
        "codegym/install.py",
        "codegym/pip/pip/__main__.py",
        "codegym/plan.json",
        "codegym/requirements.lock",
        "codegym/wheels/x.whl",
    ]


def test_the_same_content_is_the_same_context_and_key(tiny, tmp_path):
    again = make_tiny_environment(tmp_path / "again")
    below = layers(tmp_path)
    first, second = (made_of(one).context(*below).getvalue() for one in (tiny, again))
    assert first == second
    assert str(tmp_path).encode() not in first
    assert made_of(tiny).key("sha256:a") == made_of(again).key("sha256:a")


def test_every_part_of_it_changes_the_key(tiny, tmp_path):
    changed = [made_of(tiny).key("sha256:b")]
    for key, value in (
        ("import_paths", ("lib",)),
        ("system_packages", ("postgresql",)),
        ("requirements", None),
    ):
        changed.append(
            made_of(replace(tiny, image=replace(tiny.image, **{key: value}))).key("sha256:a")
        )
    other = make_tiny_environment(tmp_path / "other")
    other.image.dockerfile.write_text("ARG BASE\nFROM ${BASE}\n")
    changed.append(made_of(other).key("sha256:a"))
    keys = {made_of(tiny).key("sha256:a"), *changed}
    assert len(keys) == 6


def test_the_plan_names_where_the_tree_is_imported_from(tiny):
    deeper = replace(tiny, subdir="python/pkg")
    plan = json.loads(made_of(deeper).files["codegym/plan.json"])
    assert plan["import_paths"] == ["/workspace/python/pkg/src"]
    assert plan["pins"] == 5


def test_a_wrong_lock_is_told_before_anything_is_built(tiny):
    tiny.image.requirements.write_text("pytest\n")
    with pytest.raises(DataError, match=r"requirements\.lock:1: 'pytest' is not"):
        asyncio.run(build_docker_image(tiny, progress=print))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('root = "dockerfile"\ninstall = ["make"]', "'install' and 'build' run in the tree"),
        ('root = "docker"', "root"),
    ],
)
def test_a_root_that_cannot_be(line, told, tiny):
    toml = tiny.folder / "environment.toml"
    toml.write_text(toml.read_text().replace("install = []", line))
    with pytest.raises(DataError, match=told):
        load_environment(tiny.folder)


# No engine


@pytest.fixture
def nobody(monkeypatch, tmp_path):
    def listen(answer=None):
        path = tmp_path / "docker.sock"
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        if answer is not None:
            server = socket.socket(socket.AF_UNIX)
            server.bind(str(path))
            server.listen()
            threading.Thread(target=serve, args=(server, answer), daemon=True).start()
            servers.append(server)
        return path

    servers = []
    yield listen
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def serve(server, answer):
    try:
        while True:
            connection = server.accept()[0]
            with connection:
                if connection.recv(65536):
                    connection.sendall(answer)
    except OSError:
        return  # the test is over


def test_no_engine_is_told_with_its_address_and_what_to_do(nobody, tiny):
    path = nobody()
    for ask in (
        list_docker_images,
        lambda: asyncio.run(build_docker_image(tiny, progress=print)),
        lambda: asyncio.run(docker_root(tiny, LayerStore(path.parent / "store"), print)),
    ):
        with pytest.raises(
            UnavailableError, match=rf"answers at unix://{path}: .*No such file.*DOCK"
        ):
            ask()


def test_one_that_refuses_or_hangs_up(nobody):
    path = nobody(b"")
    with pytest.raises(UnavailableError, match=rf"no Docker engine answers at unix://{path}"):
        list_docker_images()
    path.unlink()
    body = b'{"message": "authorization denied by plugin"}'
    nobody(
        b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    with pytest.raises(UnavailableError, match="403 Client Error: Forbidden"):
        list_docker_images()


def test_a_full_disk_is_told_as_such():
    told = explained("write /var/lib/docker/overlay2/x: no space left on device")
    assert "disk of the Docker engine is full" in str(told)
    assert "docker system prune" in told.mend
