"""An environment's Dockerfile, built for real: what its image holds, and above all what not."""

import asyncio
import io
import os
import re
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from support import make_tiny_environment

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.sandbox.images.docker import build_docker_image, list_docker_images
from codegym.sandbox.images.docker.build import REPOSITORY
from codegym.sandbox.images.docker.engine import engine
from codegym.sandbox.images.listing import FORBIDDEN
from codegym.sandbox.images.settling import EPOCH_SEC
from codegym.store import cache_dir
from codegym.tasks import load_environment, sources

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("docker_images"),
]

ROOT = Path(__file__).parents[2]
STEPS = [
    r"COPY dir:[0-9a-f]{64} in / ",
    r"USER 1000:1000",
    r"WORKDIR /workspace",
    r"ENV PATH=\S+ PYTHONDONTWRITEBYTECODE=1",
    r"LABEL codegym\.recipe=[0-9a-f]{64}",
]


@pytest.fixture(scope="module")
def client(docker_images):
    with engine() as made:
        yield made


def built(environment, **options):
    return asyncio.run(build_docker_image(environment, progress=lambda _: None, **options))


@pytest.fixture(scope="module")
def image(client):
    """kvlog's image; the others' are the same, for their locks are."""
    return client.images.get(built(load_environment(ROOT / "environments/kvlog")).id)


@pytest.fixture(scope="module")
def saved(image):
    """Name to bytes of all in the file that somebody could pass on."""
    data = io.BytesIO(b"".join(image.save(chunk_size=1 << 20)))
    with tarfile.open(fileobj=data) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive if one.isreg()}


@pytest.fixture(scope="module")
def layer(saved):
    """The entries of its only layer, and the archive."""
    (found,) = [data for data in saved.values() if len(data) > 1 << 20]
    with tarfile.open(fileobj=io.BytesIO(found)) as archive:
        yield archive


def test_the_bundled_dockerfiles_are_the_one_that_new_environments_get():
    texts = {path.read_bytes() for path in ROOT.glob("environments/*/Dockerfile")}
    assert texts == {(ROOT / "codegym/sandbox/images/docker/payload/Dockerfile").read_bytes()}


def test_it_is_built_once_for_all_that_have_the_same_recipe(image, tmp_path):
    again = built(make_tiny_environment(tmp_path / "tiny"))
    assert (again.id, again.seconds) == (image.id, 0.0)
    assert again.tag.startswith(f"{REPOSITORY}:tiny-")
    assert again in list_docker_images()


def test_history_and_configuration_say_nothing_but_the_steps(image):
    told = [step["CreatedBy"] for step in reversed(image.history())]
    assert len(told) == len(STEPS)
    for step, expected in zip(told, STEPS, strict=True):
        assert re.fullmatch(rf"/bin/sh -c #\(nop\) +{expected}", step), step
    config = image.attrs["Config"]
    assert config["User"] == "1000:1000"
    assert [variable.split("=")[0] for variable in config["Env"]] == [
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
    ]
    assert list(config["Labels"]) == ["codegym.recipe"]
    unset = ("Cmd", "Entrypoint", "OnBuild", "Volumes", "ExposedPorts", "Healthcheck")
    assert not any(config.get(key) for key in unset)


def test_its_layer_holds_no_installer_no_privilege_and_no_leftover(layer):
    emptied = ("workspace", "tmp", "root", "var/log", "var/cache", "var/lib/apt", "etc/apt")
    for entry in layer:
        parts = entry.name.strip("/").split("/")
        assert entry.isdir() or not entry.mode & 0o6000, entry.name
        assert not entry.isdev(), entry.name
        assert not entry.name.endswith((".whl", ".deb", "direct_url.json")), entry.name
        assert not {"codegym", ".git", "ensurepip", ".cache"} & set(parts), entry.name
        assert parts[-1] not in ("tasks.jsonl", "history.fast-export", "environment.toml")
        assert not entry.name.startswith(tuple(f"{name}/" for name in emptied)), entry.name
        if entry.name.startswith("opt/venv/"):
            assert entry.mtime == EPOCH_SEC, entry.name
            assert parts[-1] not in ("pip", "pip3", "setuptools", "pkg_resources"), entry.name
        else:
            assert not FORBIDDEN & set(parts), entry.name


def test_nothing_in_it_tells_the_answers_or_the_machine(layer, saved, image):
    """Every byte: of files, of names, of the configuration and of the history."""
    hashes, lines = set(), set()
    for row in sources.resolve(None):
        hashes.add(row.base_commit.encode())
        added = [line[1:].strip() for line in row.patch.splitlines() if line.startswith("+")]
        lines |= {line.encode() for line in added if len(line) > 40 and not line.startswith("#")}
    assert len(lines) > 100
    names = {b"kvlog", b"calcsheet", b"routekit", str(ROOT).encode(), str(cache_dir()).encode()}
    names |= hosts_of_the_machine()
    read = 0
    for entry in layer:
        data = layer.extractfile(entry).read() if entry.isreg() else b""
        assert not any(name in data or name in entry.name.encode() for name in names), entry.name
        if b"\0" not in data:
            assert not hashes.intersection(re.findall(rb"[0-9a-f]{40}", data)), entry.name
            assert not lines.intersection(map(bytes.strip, data.split(b"\n"))), entry.name
        read += entry.isreg()
    assert read > 2000
    named = ("manifest.json", "repositories")  # they hold the image's tags
    told = b"".join(d for name, d in saved.items() if len(d) < 1 << 20 and name not in named)
    told += "".join(step["CreatedBy"] + step["Comment"] for step in image.history()).encode()
    assert not any(name in told for name in names)


def hosts_of_the_machine():
    """Names and secrets that its own configuration knows: the package index, proxies."""
    asked = [sys.executable, "-m", "pip", "config", "list"]
    known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    known += " ".join(v for k, v in os.environ.items() if k.lower().endswith("_proxy"))
    found = re.findall(r"://(?:([^/@\s']+)@)?([^/\s'@]+)", known)
    return {part.encode() for pair in found for part in pair if part not in ("", "localhost")}


# Dockerfiles that are wrong


def environment_with(folder, dockerfile, lock=None):
    made = make_tiny_environment(folder)
    made.image.dockerfile.write_text(dockerfile)
    if lock is not None:
        made.image.requirements.write_text(lock)
    return load_environment(folder)


def untagged(client):
    return {image.id for image in client.images.list(all=True) if not image.tags}


@pytest.fixture
def nothing_stays(client):
    """What a build that failed leaves in the engine: no image, no container."""
    before = untagged(client)
    yield
    assert untagged(client) <= before
    assert client.containers.list(all=True, filters={"ancestor": "codegym-base"}) == []


# An engine may lose what a step printed right before it failed: it waits for the status alone.
NETWORK = """\
RUN echo began; cut -d: -f1 /proc/net/dev; test ! -e /tasks.jsonl || echo leaked; \\
    bash -c 'echo > /dev/tcp/192.0.2.1/80' || { sleep 2; exit 1; }
"""


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("COPY history.fast-export /", r"COPY history.*(not found|no such file|not exist)"),
        ("COPY . /\n" + NETWORK, r"RUN echo.*began.*lo\n.*Network is unreachable.*code: 1"),
        ("NONSENSE", "NONSENSE"),
    ],
)
def test_a_step_that_fails_is_told_with_its_last_lines(step, told, tmp_path, nothing_stays):
    environment = environment_with(tmp_path, f"ARG BASE\nFROM ${{BASE}}\n{step}\n")
    with pytest.raises(DataError) as caught:
        built(environment)
    assert caught.value.path == environment.image.dockerfile
    assert re.search(told, str(caught.value), re.DOTALL | re.IGNORECASE), caught.value
    assert not re.search(r"^ *eth|^leaked", str(caught.value), re.MULTILINE)


@pytest.mark.slow
def test_a_package_that_the_base_lacks_is_named(tmp_path, nothing_stays):
    tiny = make_tiny_environment(tmp_path)
    lacking = replace(tiny, image=replace(tiny.image, system_packages=("postgresql-15",)))
    with pytest.raises(DataError, match="lacks the package postgresql-15; choose or make one"):
        built(lacking)


def test_a_base_that_is_nowhere(tmp_path):
    with pytest.raises(UnavailableError, match=r"no image codegym-none.*--base.*base-image"):
        built(make_tiny_environment(tmp_path), base="codegym-none")


def test_a_base_without_python(client, tmp_path):
    client.api.import_image_from_data(b"\0" * 1024, "codegym-test-empty")
    try:
        with pytest.raises(UnavailableError, match=r"codegym-test-empty has no python3.*--base"):
            built(make_tiny_environment(tmp_path), base="codegym-test-empty")
        filters = {"ancestor": "codegym-test-empty"}
        assert client.containers.list(all=True, filters=filters) == []
    finally:
        client.images.remove("codegym-test-empty")


def test_a_base_with_another_python(tmp_path):
    tiny = make_tiny_environment(tmp_path)
    newer = replace(tiny, image=replace(tiny.image, python=">=4", import_paths=("x",)))
    with pytest.raises(UnavailableError, match=r">=4, and the base image codegym-base has 3\.\d"):
        built(newer)


def test_an_environment_without_a_dockerfile_or_with_commands_in_its_tree(tmp_path):
    tiny = make_tiny_environment(tmp_path)
    with pytest.raises(UsageError, match=r"no image\.dockerfile"):
        built(replace(tiny, image=replace(tiny.image, dockerfile=None)))
    with pytest.raises(UsageError, match="no Docker image may"):
        built(replace(tiny, image=replace(tiny.image, build=("make",))))
