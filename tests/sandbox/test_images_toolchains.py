"""Toolchains of the host as layers: what is in them, and what of the host is not."""

import os
import re
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support import make_tiny_environment

from codegym.errors import DataError, UnavailableError
from codegym.sandbox.backends import pick
from codegym.sandbox.images import build_image, missing_toolchains, toolchain_names
from codegym.sandbox.images import toolchains as module
from codegym.sandbox.images.toolchains import toolchain_env, toolchain_layers, toolchain_stamp
from codegym.store import LayerStore
from codegym.tasks import load_environment
from codegym.types import SandboxSpec

#: A program of each, as small as it can be, and what shows that it runs.
PROGRAMS = {
    "c": (
        "printf '#include <stdio.h>\\n#include <math.h>\\n#include <pthread.h>\\n"
        "int main(int c, char **v) { putchar(48 + (int)sqrt(c + 48.0)); putchar(10); }\\n' > a.c; "
        "printf 'a: a.c\\n\\tcc -O2 -Wall -o a a.c -lm -lpthread\\n' > Makefile; make -s && ./a"
    ),
    "go": (
        "printf 'module m\\n\\ngo 1.16\\n' > go.mod; "
        "printf 'package main\\n\\nimport \"fmt\"\\n\\nfunc main() { fmt.Println(7) }\\n' > a.go; "
        "go run ."
    ),
    "java": (
        "printf 'class A { public static void main(String[] a) { System.out.println(7); } }' "
        "> A.java; javac A.java && java A"
    ),
    "node": "node -e 'console.log(7)'",
    "rust": "printf 'fn main() { println!(\"7\"); }' > a.rs; rustc -o a a.rs && ./a",
}


def require(name):
    if name in missing_toolchains():
        assert not os.environ.get("CI"), f"CI has no {name}"
        pytest.skip(f"this machine has no {name}")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("toolchains") / "tiny")


def test_there_is_a_program_of_each():
    assert set(PROGRAMS) == set(toolchain_names())


#: Java's works in the tests of ``junit``, too.
EACH = [pytest.param(n, marks=[pytest.mark.slow] if n == "java" else []) for n in sorted(PROGRAMS)]


@pytest.mark.parametrize("name", EACH)
@pytest.mark.asyncio
async def test_it_works_inside(name, tiny):
    require(name)
    environment = replace(tiny, image=replace(tiny.image, requirements=None, toolchains=(name,)))
    store, backend = LayerStore(), pick("bubblewrap")
    try:
        image = await build_image(environment, backend, store=store)
        assert len(image.layers) == 3
        assert await build_image(environment, backend, store=store) == image
        workspace = store.publish("empty-00000000", lambda folder: None)
        async with await backend.start(SandboxSpec(image, workspace)) as box:
            ran = await box.exec(
                ["/bin/bash", "-c", f"mkdir /tmp/m && cd /tmp/m && {PROGRAMS[name]}"],
                timeout_sec=120.0,
            )
            assert ran.output.decode().splitlines()[-1:] == ["7"], ran.output.decode()
            homes = await box.exec(["/bin/bash", "-c", "ls -A /root /home"])
            assert not re.search(rb"cargo|rustup|\.m2|npm", homes.output)
    finally:
        await backend.close()


@pytest.mark.parametrize("name", EACH)
def test_a_layer_holds_files_and_no_more(name, tiny):
    require(name)
    store = LayerStore()
    (layer,) = toolchain_layers([name], store)
    assert toolchain_layers([name], store) == [layer]
    assert re.fullmatch(r"toolchain-[0-9a-f]{64}", layer.name)
    for path in layer.rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path
        if path.is_symlink():
            assert not path.readlink().is_absolute(), path
        assert path.name not in ("site-packages", "dist-packages", "node_modules", ".cargo"), path
    assert {path.name for path in layer.iterdir()} <= {
        "usr",
        "bin",
        "sbin",
        "lib",
        "lib32",
        "lib64",
        "libx32",
    }
    assert toolchain_stamp([name]) == toolchain_stamp([name]) != toolchain_stamp([])


def test_a_script_that_calls_a_builder_brings_no_folder_along(monkeypatch, tmp_path):
    """Of one in ``~/bin`` the folder above is the user's own."""
    require("java")
    (tmp_path / "bin").mkdir()
    (tmp_path / "secret").write_text("none of a sandbox's business")
    for name in ("mvn", "gradle"):
        script = tmp_path / "bin" / name
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (layer,) = toolchain_layers(["java"], LayerStore(tmp_path / "store"))
    assert not [path for path in layer.rglob("*") if path.name in ("secret", "mvn", "gradle")]


def test_a_builder_comes_without_this_machines_settings(monkeypatch, tmp_path):
    require("java")
    home = tmp_path / "maven"
    files = ("bin/mvn", "boot/plexus-classworlds-2.jar", "conf/settings.xml", "lib/maven-core.jar")
    for name in files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("#!/bin/sh\n")
    (home / "bin/mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:{os.environ['PATH']}")
    (layer,) = toolchain_layers(["java"], LayerStore(tmp_path / "store"))
    there = layer / "usr/local/lib/mvn"
    assert {str(one.relative_to(there)) for one in there.rglob("*") if one.is_file()} == {
        "bin/mvn",
        "boot/plexus-classworlds-2.jar",
        "lib/maven-core.jar",
    }


def test_a_builder_that_is_installed_later_makes_another_stamp(monkeypatch, tmp_path):
    require("java")
    before = toolchain_stamp(["java"])
    for name in ("mvn", "gradle"):
        builder = tmp_path / "bin" / name
        builder.parent.mkdir(exist_ok=True)
        builder.write_text("#!/bin/sh\n")
        builder.chmod(0o755)
        monkeypatch.setenv("PATH", f"{builder.parent}:{os.environ['PATH']}")
        after = toolchain_stamp(["java"])
        assert after != before
        before = after


def test_what_is_missing_is_named_with_its_package(monkeypatch, tmp_path):
    (tmp_path / "gcc").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "FOLDERS", ())
    monkeypatch.setattr(module.Path, "home", lambda: tmp_path)
    if Path("/usr/local/go/bin/go").exists():
        pytest.skip("Go is where it is looked for besides")
    with pytest.raises(UnavailableError, match=r"needs the toolchain 'go', .* no go\. .*golang-go"):
        toolchain_stamp(["go"])
    assert missing_toolchains()["node"] == "nodejs"
    with pytest.raises(UnavailableError, match="no cargo and no rustc"):
        toolchain_layers(["rust"], LayerStore())


def test_variables_of_several_and_of_the_environment(tiny):
    assert toolchain_env([]) == {}
    assert {"GOPROXY", "CARGO_TARGET_DIR"} <= toolchain_env(["go", "rust"]).keys()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('toolchains = ["cobol"]', "image.toolchains.0"),
        ('toolchains = ["c", "c"]', "'c' is there twice"),
        ('toolchains = ["c"]\nroot = "dockerfile"', "install what is needed in the Dockerfile"),
    ],
)
def test_what_environment_toml_may_not_say(keys, said, tmp_path):
    folder = make_tiny_environment(tmp_path / "tiny").folder
    path = folder / "environment.toml"
    path.write_text(path.read_text().replace('python = ">=3.11"', f'python = ">=3.11"\n{keys}'))
    with pytest.raises(DataError, match=re.escape(said)):
        load_environment(folder)


SUITES = [
    ('runner = "tap"', "the runner 'tap' needs 'command'"),
    ('runner = "junit"\ncommand = "x"', "the runner 'junit' needs 'reports'"),
    ('runner = "node"\ncommand = "x"', "the runner 'node' takes no 'command'"),
    ('build = ["make"]', "the runner 'pytest' takes no 'build'"),
    ('runner = "tap"\ncommand = "x"\nreport = ["x"]', "did you mean 'reports'?"),
    ('runner = "junit"\ncommand = "x"\nreports = ["../x"]', "inside the repository"),
]


@pytest.mark.parametrize(("keys", "said"), SUITES)
def test_what_suites_may_not_say(keys, said, tmp_path):
    folder = make_tiny_environment(tmp_path / "tiny").folder
    path = folder / "environment.toml"
    text = path.read_text()
    if "runner" in keys:
        text = text.replace('runner = "pytest"\n', "")
    path.write_text(text.replace("[[suites]]\n", f"[[suites]]\n{keys}\n"))
    with pytest.raises(DataError, match=re.escape(said)):
        load_environment(folder)


def test_ldd_of_all_that_is_inside_is_inside_too(tiny):
    require("c")
    (layer,) = toolchain_layers(["c"], LayerStore())
    for name in ("cc1", "collect2"):
        (path,) = layer.rglob(name)
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"^\s+(\S+) => /", told, re.MULTILINE):
            assert list(layer.rglob(library)), library
