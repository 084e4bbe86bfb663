"""Building images: offline wheels made here, commands, secrets, two builders at once, faults."""

import asyncio
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import make_tiny_environment

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.sandbox.backends import pick
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.tasks import load_environment
from codegym.types import File, SandboxSpec

SITE = f"/opt/venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return LayerStore(tmp_path_factory.mktemp("store") / "layers")


@pytest.fixture
async def builder(store):
    made = pick("bubblewrap", store=store)
    yield made
    await made.close()


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    """A folder of wheels in place of an index; nothing else can be reached."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return folder


def make_wheel(folder, name, files, *, salt="", scripts=""):
    """Write ``name`` 1.0 as a wheel; returns its line in a lock."""
    files = dict(files) or {f"{name}/__init__.py": f"# {salt}\n"}
    info = f"{name}-1.0.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    if scripts:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}\n"
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
        record += f"{path},sha256={digest.rstrip('=')},{len(text.encode())}\n"
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100755 if "/scripts/" in path else 0o100644) << 16
            archive.writestr(entry, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def make_environment(tmp_path, lock="", **image):
    """The tiny environment with another lock, and other keys under ``[image]``."""
    folder = tmp_path / "tiny"
    make_tiny_environment(folder)
    (folder / "requirements.lock").write_text(lock)
    toml = folder / "environment.toml"
    text = toml.read_text()
    for key, value in image.items():
        lines = [f"{key} = {value}" if x.startswith(f"{key} =") else x for x in text.split("\n")]
        text = "\n".join(lines)
    toml.write_text(text)
    return load_environment(folder)


async def run(backend, store, image, command):
    lower = store.publish("empty-00000000", lambda dest: None)
    async with await backend.start(SandboxSpec(image, lower)) as box:
        result = await box.shell(command, timeout_sec=60)
        return result.output.decode()


def drafts(store):
    return [
        path.name for path in store.root.iterdir() if path.name.startswith((".build", ".trash"))
    ]


async def test_wheels_are_installed_with_scripts_data_and_bytecode(tmp_path, index, builder, store):
    line = make_wheel(
        index,
        "greeter",
        {
            "greeter.py": "import sys\ndef main():\n    print('hello from', sys.executable)\n",
            "greeter-1.0.data/scripts/raw": "#!python\nprint('raw')\n",
            "greeter-1.0.data/data/share/greeter/note.txt": "a note\n",
        },
        scripts="greet = greeter:main",
    )
    image = await build_image(make_environment(tmp_path, line), builder, store=store)
    said = await run(builder, store, image, "greet; raw; cat /opt/venv/share/greeter/note.txt")
    assert said == "hello from /opt/venv/bin/python\nraw\na note\n"
    said = await run(builder, store, image, f"ls {SITE}/__pycache__ && head -1 /opt/venv/bin/greet")
    assert said.split()[0].startswith("greeter.cpython-")
    assert said.split()[-1] == "#!/opt/venv/bin/python"
    assert image.python == "/opt/venv/bin/python"
    assert drafts(store) == []


async def test_nothing_of_a_package_runs_on_the_host(tmp_path, index, builder, store):
    marker = tmp_path / "ran"
    write = f"import pathlib; pathlib.Path({str(marker)!r}).write_text('x')\n"
    line = make_wheel(index, "nosy", {"nosy.py": write, "nosy.pth": write, "conftest.py": write})
    image = await build_image(make_environment(tmp_path, line), builder, store=store)
    await run(builder, store, image, "python -c 'import nosy'")
    assert not marker.exists()


async def test_a_source_distribution_is_refused_and_not_built(tmp_path, index, builder, store):
    source = tmp_path / "src" / "evil-1.0"
    source.mkdir(parents=True)
    marker = tmp_path / "ran"
    (source / "setup.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    sdist = index / "evil-1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(source, source.name)
    lock = f"evil==1.0 --hash=sha256:{hashlib.sha256(sdist.read_bytes()).hexdigest()}\n"
    with pytest.raises(UnavailableError, match=r"cannot fetch the wheels.*evil"):
        await build_image(make_environment(tmp_path, lock), builder, store=store)
    assert not marker.exists()
    assert drafts(store) == []


async def test_another_content_than_is_pinned_is_refused(tmp_path, index, builder, store):
    line = make_wheel(index, "swapped", {}, salt="first")
    make_wheel(index, "swapped", {}, salt="second")
    with pytest.raises(DataError, match=r"requirements\.lock: .*else than is pinned"):
        await build_image(make_environment(tmp_path, line), builder, store=store)


async def test_the_same_image_comes_from_the_cache_and_a_second_build_is_offline(
    tmp_path, index, builder, store
):
    line = make_wheel(index, "cached", {})
    said = []
    environment = make_environment(tmp_path, line)
    first = await build_image(environment, builder, store=store, progress=said.append)
    assert [text for text in said if "fetching 1 wheels" in text]
    for wheel in index.iterdir():
        wheel.unlink()
    said.clear()
    assert await build_image(environment, builder, store=store, progress=said.append) == first
    assert said == []
    other = make_environment(tmp_path / "2", line, import_paths='["lib"]')
    second = await build_image(other, builder, store=store, progress=said.append)
    assert said == ["building the image of tiny"]
    assert second.digest != first.digest
    assert second.layers[1] == first.layers[1]  # the root is shared
    assert await run(builder, store, second, f"cat {SITE}/workspace.pth") == "/workspace/lib\n"


async def test_a_pruned_layer_is_built_again(tmp_path, index, builder, store):
    environment = make_environment(tmp_path, make_wheel(index, "pruned", {}))
    first = await build_image(environment, builder, store=store)
    for layer in first.layers:
        shutil.rmtree(layer)
    again = pick("bubblewrap", store=store)
    try:
        assert await build_image(environment, again, store=store) == first
    finally:
        await again.close()
    assert all(layer.is_dir() for layer in first.layers)


async def test_offline_says_what_is_missing_and_what_to_do(tmp_path, monkeypatch, builder, store):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    lock = f"absent==1.0 --hash=sha256:{'0' * 64}\n"
    with pytest.raises(UnavailableError, match=r"cannot fetch .*absent.*pip config list"):
        await build_image(make_environment(tmp_path, lock), builder, store=store)


async def test_an_unpinned_line_is_refused_before_anything_starts(tmp_path, builder, store):
    with pytest.raises(DataError, match=r"requirements\.lock:1: "):
        await build_image(make_environment(tmp_path, "pytest\n"), builder, store=store)


async def test_installers_named_in_a_lock_are_not_left_in_the_image(
    tmp_path, index, builder, store
):
    lines = [
        make_wheel(index, "setuptools", {"setuptools/__init__.py": "", "pkg_resources.py": ""})
    ]
    lines += [
        make_wheel(index, name, {}, scripts=f"{name} = {name}:main\n{name}3 = {name}:main")
        for name in ("pip", "wheel", "pipette")
    ]
    image = await build_image(make_environment(tmp_path, "".join(lines)), builder, store=store)
    said = await run(builder, store, image, f"ls {SITE} /opt/venv/bin")
    names = said.split()
    assert names.count("pipette") == 2
    assert {"pipette3", "pipette-1.0.dist-info"} <= set(names)
    assert not {"pip", "setuptools", "wheel", "pip3", "wheel3"} & set(names)
    assert not [name for name in names if name.startswith(("pip-", "setuptools-", "wheel-"))]


async def test_commands_run_inside_with_the_tree_and_their_effects_stay(tmp_path, builder, store):
    environment = make_environment(
        tmp_path,
        install=f'["cp src/made.py {SITE}/installed.py", "python -m pip --version"]',
        build='["test $(pwd) = /workspace && ! echo > new && id -un > /opt/venv/who"]',
        env='{ FLAVOUR = "mint" }',
    )
    tree = {"src/made.py": File(b"value = 7\n"), "run": File(b"src/made.py", "120000")}
    said = []
    image = await build_image(environment, builder, store=store, tree=tree, progress=said.append)
    assert len([text for text in said if text.startswith("image.install: ")]) == 2
    script = (
        "python -c 'import installed; print(installed.value)'; cat /opt/venv/who; echo $FLAVOUR"
    )
    assert await run(builder, store, image, script) == "7\nagent\nmint\n"
    assert (
        await run(builder, store, image, "ls -A /workspace /opt/venv/.build; python -m pip") != ""
    )
    changed = {**tree, "src/made.py": File(b"value = 8\n")}
    other = await build_image(environment, builder, store=store, tree=changed)
    assert await run(builder, store, other, script) == "8\nagent\nmint\n"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo broken >&2; exit 3", r"image\.build: `.*` failed \(3\): broken"),
        ("ln -s /etc/passwd /opt/venv/leak", "leak is no regular file"),
        ("mkfifo /opt/venv/pipe", "pipe is no regular file"),
        ("kill -9 -1; kill -9 $$", r"image\.build: .* failed"),
    ],
)
async def test_a_bad_command_fails_the_build_and_leaves_nothing(
    tmp_path, builder, store, command, problem
):
    environment = make_environment(tmp_path, build=f"[{command!r}]".replace("'", '"'))
    before = {path.name for path in store.root.iterdir()}
    with pytest.raises(DataError, match=problem):
        await build_image(environment, builder, store=store)
    made = {path.name.split("-")[0] for path in store.root.iterdir() if path.name not in before}
    assert made <= {"root", "wheels", "pip"}
    assert drafts(store) == []


async def test_the_network_is_not_there_in_a_build(tmp_path, builder, store):
    probe = "python -c 'import socket; socket.create_connection((\\\"192.0.2.1\\\", 80), 2)'"
    environment = make_environment(tmp_path, build=f'["{probe}"]')
    with pytest.raises(DataError, match="unreachable"):
        await build_image(environment, builder, store=store)


async def test_a_secret_is_there_in_a_build_and_must_not_stay(
    tmp_path, builder, store, monkeypatch
):
    monkeypatch.setenv("TOKEN", "s3cr3t-value")
    used = make_environment(
        tmp_path, build_secrets='["TOKEN"]', build='["test $TOKEN = s3cr3t-value"]'
    )
    image = await build_image(used, builder, store=store)
    assert "s3cr3t" not in await run(builder, store, image, "env; cat /opt/venv/*.cfg")
    kept = make_environment(
        tmp_path / "2", build_secrets='["TOKEN"]', build='["echo x${TOKEN}x > /opt/venv/kept"]'
    )
    with pytest.raises(DataError, match="build secret TOKEN"):
        await build_image(kept, builder, store=store)
    monkeypatch.delenv("TOKEN")
    other = make_environment(tmp_path / "3", build_secrets='["TOKEN"]', build='["true"]')
    with pytest.raises(UsageError, match="TOKEN not set"):
        await build_image(other, builder, store=store)


async def test_another_python_than_the_environment_wants_is_refused(tmp_path, builder, store):
    with pytest.raises(UnavailableError, match=r"needs Python >=4\.0"):
        await build_image(make_environment(tmp_path, python='">=4.0"'), builder, store=store)


async def test_a_cancelled_build_leaves_nothing_and_can_be_done_again(tmp_path, builder, store):
    environment = make_environment(tmp_path, build='["sleep 1; echo built > /opt/venv/done"]')
    started = asyncio.Event()
    build = asyncio.create_task(
        build_image(environment, builder, store=store, progress=lambda text: started.set())
    )
    await started.wait()
    await asyncio.sleep(0)
    build.cancel()
    with pytest.raises(asyncio.CancelledError):
        await build
    assert drafts(store) == []
    image = await build_image(environment, builder, store=store)
    assert await run(builder, store, image, "cat /opt/venv/done") == "built\n"


async def test_many_tasks_at_once_share_one_build(tmp_path, index, builder, store):
    environment = make_environment(tmp_path, make_wheel(index, "shared", {}))
    said = []
    builds = (
        build_image(environment, builder, store=store, progress=said.append) for _ in range(20)
    )
    images = await asyncio.gather(*builds)
    assert len({image.digest for image in images}) == 1
    assert said.count("building the image of tiny") == 1


BUILD = """
import asyncio, sys
from pathlib import Path
from codegym.sandbox.backends import pick
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.tasks import load_environment

async def main():
    store = LayerStore(Path(sys.argv[1]))
    backend = pick("bubblewrap", store=store)
    environment = load_environment(Path(sys.argv[2]))
    image = await build_image(environment, backend, store=store, progress=print)
    print(image.digest)
    await backend.close()

asyncio.run(main())
"""


def test_two_processes_build_once_and_get_the_same(tmp_path, index):
    environment = make_environment(tmp_path, make_wheel(index, "twice", {}))
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", BUILD, str(tmp_path / "layers"), str(environment.folder)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)
    ]
    said = [process.communicate(timeout=100)[0].split("\n") for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0][-2] == said[1][-2]
    assert sum(lines.count("building the image of tiny") for lines in said) == 1
    assert drafts(LayerStore(tmp_path / "layers")) == []
