"""What code finds inside a sandbox on a real image."""

import pwd
from pathlib import Path

import pytest

from codegym.sandbox.images import Interpreter, build_root
from codegym.sandbox.images.build import ENV
from codegym.store import LayerStore
from codegym.types import Image, SandboxSpec

SYSTEM = Path("/usr/bin/python3")

IMPORTS = """
import asyncio, bz2, ctypes, curses, decimal, hashlib, locale, lzma, multiprocessing, readline
import socket, sqlite3, ssl, subprocess, sys, uuid, venv, zlib, zoneinfo
assert locale.setlocale(locale.LC_ALL, "") == "C.UTF-8"
assert sqlite3.connect(":memory:").execute("select 6 * 7").fetchone() == (42,)
assert lzma.decompress(lzma.compress(b"x")) == bz2.decompress(bz2.compress(b"x")) == b"x"
assert ssl.create_default_context().check_hostname
assert ctypes.CDLL(None).getpid() > 0
assert hashlib.new("sha3_256", b"").hexdigest().startswith("a7ffc6f8")
assert socket.gethostbyname("localhost") == "127.0.0.1"
assert subprocess.run(["/bin/true"]).returncode == 0
curses.setupterm("xterm")
with multiprocessing.Pool(1) as pool:
    assert pool.map(abs, [-3]) == [3]
print("fine", sys.prefix)
"""

ABSENT = """
import importlib.util, sys
names = ["pip", "setuptools", "pkg_resources", "ensurepip", "wheel", "test", "idlelib", "tkinter"]
print([name for name in names if importlib.util.find_spec(name)])
print([path for path in sys.path if "dist-packages" in path])
"""


@pytest.fixture
async def box(backend, spec):
    async with await backend.start(spec) as made:
        yield made


async def run(box, command):
    result = await box.shell(command, timeout_sec=60)
    return result.exit_code, result.output.decode()


async def test_python_and_its_library_work(box):
    result = await box.exec(["/opt/venv/bin/python", "-c", IMPORTS])
    assert result.output.decode() == "fine /opt/venv\n"


async def test_pytest_and_git_work(box):
    assert await run(box, "pytest --version && python -m pytest --version") == (
        0,
        (await run(box, "pytest --version"))[1] * 2,
    )
    code, said = await run(box, "git --version")
    assert (code, said[:12]) == (0, "git version ")
    code, said = await run(
        box,
        "cd /tmp && git init -q r && cd r && echo a > f && git add f && git commit -qm one &&"
        " git clone -q . /tmp/c && git -C /tmp/c log --format=%an:%s && git stash list &&"
        " git submodule status && git diff HEAD",
    )
    assert (code, said) == (0, "agent:one\n")


async def test_the_usual_tools_work(box):
    script = (
        "set -e; cd /tmp; printf 'b\\na\\n' > x; sort x | head -1; sed -n s/b/c/p x;"
        " awk 'END{print NR}' x; grep -c a x; find . -name x | xargs cat | wc -l;"
        " tar czf x.tgz x; tar tzf x.tgz; gzip -c x | zcat | tail -1; id -un; date +%Z;"
        " stdbuf -oL echo ok; diff x x; timeout 5 env true; hostname"
    )
    code, said = await run(box, script)
    assert (code, said.split()) == (
        0,
        ["a", "c", "2", "1", "2", "x", "a", "agent", "UTC", "ok", "box"],
    )


async def test_there_is_no_installer_and_no_installed_package_of_the_host(box):
    for python in ("/opt/venv/bin/python", str(Interpreter.running().executable)):
        result = await box.exec([python, "-c", ABSENT])
        assert result.output.decode() == "[]\n[]\n"
    found = "find / -xdev \\( -name 'pip*' -o -name 'setuptools*' -o -name dist-packages"
    code, said = await run(
        box, found + " -o -name _vendor -o -name '*.whl' \\) -not -name 'pipes*'"
    )
    assert (code, said) == (0, "")
    code, said = await run(
        box, "command -v pip pip3 easy_install wheel uv gcc perl curl ssh sudo su"
    )
    assert said == ""


async def test_no_file_has_privileges(box):
    assert await run(box, "find / -xdev \\( -perm /6000 -o -type b \\)") == (0, "")


async def test_nobody_of_the_host_is_known(box):
    _, said = await run(box, "cut -d: -f1 /etc/passwd; ls /home")
    assert said.split() == ["root", "agent", "nobody", "agent"]
    others = {user.pw_name for user in pwd.getpwall()} - {"root", "agent", "nobody"}
    known = await box.exec(
        ["/opt/venv/bin/python", "-c", "import pwd; print([u.pw_name for u in pwd.getpwall()])"]
    )
    assert not [name for name in others if f"'{name}'" in known.output.decode()]


async def test_of_other_homes_only_the_interpreter_can_be_seen(box):
    prefix = str(Interpreter.running().prefix)
    own = await run(box, f"find {prefix} -xdev -type f | grep -c .")
    assert own[0] == 0
    assert await run(box, f"find /root /home -xdev -type f -not -path '{prefix}/*'") == (0, "")


async def test_the_trees_packages_are_imported_from_the_workspace(box):
    _, said = await run(box, "mkdir -p src; python -c 'import sys; print(*sys.path, sep=\"\\n\")'")
    path = said.split("\n")
    assert "/workspace/src" in path
    prefixes = ("/workspace", "/opt/venv/", f"{Interpreter.running().prefix}/", "/usr/lib/python3")
    assert [entry for entry in path if entry and not entry.startswith(prefixes)] == []


async def test_the_image_cannot_be_written(box):
    for path in ("/x", "/etc/passwd", "/opt/venv/x", "/usr/bin/x", "/opt/venv/bin/pytest"):
        code, _ = await run(box, f"echo >> {path}")
        assert code != 0, path


@pytest.mark.skipif(not SYSTEM.exists(), reason="the system has no Python")
async def test_the_systems_python_works_as_well(backend, spec):
    interpreter = Interpreter.at(SYSTEM)
    root = build_root(interpreter, [], LayerStore())
    image = Image(root.name, (root,), ENV, str(interpreter.executable))
    async with await backend.start(SandboxSpec(image, spec.workspace)) as box:
        result = await box.exec([image.python, "-c", IMPORTS])
        assert result.output.decode() == f"fine {interpreter.prefix}\n"
        result = await box.exec([image.python, "-c", ABSENT])
        assert result.output.decode() == "[]\n[]\n"
        assert (await box.exec(["/usr/bin/python3", "-m", "pip"])).exit_code == 1
