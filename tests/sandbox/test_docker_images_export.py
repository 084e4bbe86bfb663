"""A Docker image as a root: bubblewrap runs the very files that a container has."""

from dataclasses import replace
from pathlib import Path

import pytest
from support import make_tiny_environment

from codegym.errors import DataError, UnavailableError
from codegym.sandbox.conformance import workspace
from codegym.sandbox.images import build_image
from codegym.sandbox.images.docker import build_docker_image, docker_root, new_docker_root
from codegym.sandbox.images.docker.engine import engine
from codegym.store import LayerStore
from codegym.types import SandboxSpec

pytestmark = [
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("docker_images"),
]

#: Every file, link and folder of a root, as a program sees it; what is mounted there apart.
LOOK = """
import hashlib, os
apart = {"/proc", "/dev", "/sys", "/tmp", "/run", "/workspace", "/home/agent"}
for where, folders, names in os.walk("/"):
    folders[:] = sorted(n for n in folders if os.path.join(where, n) not in apart)
    for name in sorted(names) + folders:
        path = os.path.join(where, name)
        if os.path.islink(path):
            print(path, os.readlink(path))
        elif os.path.isfile(path):
            print(path, hashlib.sha256(open(path, "rb").read()).hexdigest(), os.stat(path).st_size)
"""
WHO = "import getpass, os, sys; print(os.getuid(), getpass.getuser(), sys.executable, sys.path)"


@pytest.fixture
def tiny(tmp_path):
    made = make_tiny_environment(tmp_path / "tiny")
    return replace(made, image=replace(made.image, root="dockerfile"))


def silent(_):
    pass


async def test_bubblewrap_and_docker_have_the_same_files(backend, tiny):
    built = await build_docker_image(tiny, progress=silent)
    image = await build_image(tiny, backend)
    layer = LayerStore().publish("tree-0c0f0e00", lambda folder: workspace(folder, backend.owner))
    async with await backend.start(SandboxSpec(image, layer)) as box:
        told = [
            (await box.exec([image.python, "-c", script], max_output_bytes=1 << 22)).output
            for script in (LOOK, WHO)
        ]
    with engine() as client:
        again = [
            client.containers.run(
                built.id, ["python", "-c", script], network_mode="none", remove=True
            )
            for script in (LOOK, WHO)
        ]
    boxed, contained = (set(each[0].decode().splitlines()) for each in (told, again))
    differing = {line.split()[0] for line in boxed ^ contained}
    assert differing <= {
        "/etc/mtab",
        "/etc/hosts",
        "/etc/hostname",
        "/etc/resolv.conf",
        "/.dockerenv",
    }
    assert len(boxed & contained) > 3000
    assert told[1] == again[1]
    assert told[1].startswith(b"1000 agent /opt/venv/bin/python ['', ")


async def test_it_is_exported_once_by_content_and_known_without_an_engine(
    tiny, tmp_path, monkeypatch
):
    store, other = LayerStore(), LayerStore(tmp_path / "other")
    first = await new_docker_root(tiny, store, silent)
    assert await new_docker_root(tiny, other, silent) == first
    assert first.env["PYTHONDONTWRITEBYTECODE"] == "1"
    told = []
    assert await new_docker_root(tiny, other, told.append) == first
    assert told == []
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    assert await docker_root(tiny, other, silent) == first
    other.prune(older_than_days=0)
    with pytest.raises(UnavailableError):
        await docker_root(tiny, other, silent)


async def test_what_is_inside_cannot_be_more_than_of_a_listed_root(backend, tiny):
    image = await build_image(tiny, backend)
    layer = LayerStore().publish("tree-0c0f0e00", lambda folder: workspace(folder, backend.owner))
    async with await backend.start(SandboxSpec(image, layer)) as box:
        for script, said in (
            ("find / -xdev \\( -perm /6000 -o -type b \\)", b""),
            (
                "cut -d: -f1 /etc/passwd; ls /home; cat /etc/hostname",
                b"root\nagent\nnobody\nagent\n",
            ),
            ("find / -xdev -name 'pip*' -not -name 'pipes*' -not -path '/usr/share/*'", b""),
            ("find / -xdev \\( -name ensurepip -o -name dist-packages -o -name '*.whl' \\)", b""),
            ("find /root /var/log /var/cache /var/lib/apt /tmp -type f", b""),
            ("echo > /opt/venv/x; echo > /usr/x; ls /opt/venv/x /usr/x", b""),
            ("python -c 'import pytest; print(pytest.__file__[:13])'", b"/opt/venv/lib\n"),
        ):
            ran = await box.exec(["/bin/sh", "-c", f"{{ {script}; }} 2>/dev/null"])
            assert ran.output == said, script


HOSTILE = """\
ARG BASE
FROM {image}
USER 0
RUN cp /bin/id /usr/bin/privileged && chmod 6755 /usr/bin/privileged && mknod /usr/disk b 8 0 \\
    && mkfifo /usr/pipe && ln -s / /usr/everything && ln /usr/bin/id /usr/bin/same \\
    && ln -s /etc/passwd /etc/elsewhere && chmod 600 /etc/group && chown 4711 /etc/group \\
    && ln -s ../../../../../../../../etc/shadow /usr/up
USER 4242
ENV TELLS=inside
"""


@pytest.fixture
async def own_images(tiny):
    """Removes from the engine what a test's own Dockerfile becomes."""
    before = {(await build_docker_image(tiny, progress=silent)).id}
    with engine() as client:
        before |= {image.id for image in client.images.list("codegym/environment")}
        yield
        for image in client.images.list("codegym/environment"):
            if image.id not in before and all(":tiny-" in tag for tag in image.tags):
                client.images.remove(image.id, force=True)


@pytest.mark.slow
async def test_of_a_hostile_dockerfile_privileges_and_devices_stay_behind(
    backend, tiny, own_images
):
    built = await build_docker_image(tiny, progress=silent)
    tiny.image.dockerfile.write_text(HOSTILE.format(image=built.tag))
    image = await build_image(tiny, backend)
    root = image.layers[0]
    assert image.env["TELLS"] == "inside"
    assert (root / "usr/bin/privileged").stat().st_mode & 0o7777 == 0o755
    assert not any((root / "usr" / name).exists() for name in ("disk", "pipe"))
    assert (root / "usr/everything").readlink() == Path("/")
    owner = (root / "etc/group").stat()
    assert (owner.st_uid, owner.st_mode & 0o777) == ((root / "etc").stat().st_uid, 0o644)
    layer = LayerStore().publish("tree-0c0f0e00", lambda folder: workspace(folder, backend.owner))
    async with await backend.start(SandboxSpec(image, layer)) as box:
        ran = await box.exec(["/bin/sh", "-c", "privileged -u; cat /usr/up; ls /usr/everything"])
    assert ran.output.startswith(b"1000\ncat: /usr/up: No such file")


@pytest.mark.slow
async def test_a_dockerfile_that_leaves_an_installer_is_refused(tiny, own_images):
    tiny.image.dockerfile.write_text("ARG BASE\nFROM ${BASE}\n")
    with pytest.raises(DataError, match=r"Dockerfile: its image holds /.*install\.py"):
        await new_docker_root(tiny, LayerStore(), silent)
