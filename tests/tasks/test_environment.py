"""``environment.toml``: all keys read, and each mistake named by file, line and key."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from support import git, make_tiny_environment

from codegym.errors import DataError, NotFoundError
from codegym.tasks import Environment, load_environment
from codegym.types import Limits


@pytest.fixture
def tiny(tmp_path: Path) -> Environment:
    return make_tiny_environment(tmp_path / "tiny")


def edit(environment: Environment, old: str, new: str) -> Path:
    path = environment.folder / "environment.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_all_keys_are_read(tiny: Environment) -> None:
    assert (tiny.name, tiny.language, tiny.license) == ("tiny", "python", "Apache-2.0")
    assert tiny.history == tiny.folder / "history.fast-export"
    assert tiny.image.requirements == tiny.folder / "requirements.lock"
    assert tiny.image.dockerfile == tiny.folder / "Dockerfile"
    assert tiny.image.import_paths == ("src",)
    assert tiny.suite("unit").select == ("tests",)
    assert tiny.suite("unit").config == ("pyproject.toml", "tests/conftest.py")
    assert tiny.edits.protected == ("tests/**", "pyproject.toml", "**/conftest.py")
    assert tiny.limits == Limits(memory_mb=512, disk_mb=64, processes=64, files=5000)
    assert tiny.command_timeout_sec == 30.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny.name = "other"  # type: ignore[misc]


def test_rarer_keys(tiny: Environment) -> None:
    edit(tiny, "services = []", 'services = [{name = "db", start = "run-db", ready = "ping-db"}]')
    edit(tiny, 'dockerfile = "Dockerfile"', f'digest = "python@sha256:{"a" * 64}"')
    edit(tiny, "env = { }", 'env = { TZ = "UTC" }')
    edit(tiny, "build_secrets = []", 'build_secrets = ["TOKEN"]')
    edit(
        tiny, "[edits]", '[[suites]]\nname = "slow"\nselect = ["more/test_a.py::test_b"]\n\n[edits]'
    )
    loaded = load_environment(tiny.folder)
    assert [service.ready for service in loaded.services] == ["ping-db"]
    assert loaded.image.dockerfile is None
    assert loaded.image.digest.startswith("python@sha256:aaa")
    assert loaded.image.env == {"TZ": "UTC"}
    assert loaded.image.build_secrets == ("TOKEN",)
    assert [suite.name for suite in loaded.suites] == ["unit", "slow"]
    assert loaded.suite("slow").timeout_sec == 120.0
    with pytest.raises(NotFoundError, match="did you mean 'slow'"):
        loaded.suite("slwo")


@pytest.mark.parametrize(
    ("old", "new", "field", "problem"),
    [
        ('summary = "Ar', 'sumary = "Ar', "sumary", "did you mean 'summary'?"),
        ("memory_mb = 512", "memory_bm = 512", "limits.memory_bm", "did you mean 'memory_mb'?"),
        ('select = ["tests"]', 'selct = ["tests"]', "suites.0.selct", "did you mean 'select'?"),
        ("[limits]", "[zzz]\n[limits]", "zzz", "unknown key; known: name, summary"),
        ('name = "tiny"', "", "name", "field required"),
        ('name = "tiny"', 'name = "Ti ny"', "name", "no name"),
        ('name = "tiny"', 'name = "../tiny"', "name", "no name"),
        ('license = "Apache-2.0"', 'license = "see LICENSE file"', "license", "no SPDX"),
        ('license = "Apache-2.0"', 'license = ""', "license", "no SPDX"),
        ('head = "', 'head = "abc', "head", "full commit hash"),
        ('subdir = "."', 'subdir = "../x"', "subdir", "relative path inside"),
        ('subdir = "."', 'subdir = "/etc"', "subdir", "relative path inside"),
        ("history.fast-export", "nowhere", "history", "no such file"),
        (
            'requirements = "requirements.lock"',
            'requirements = "x"',
            "image.requirements",
            "no such",
        ),
        ('python = ">=3.11"', 'python = "three"', "image.python", "no version specifier"),
        ("env = { }", "env = { A = 1 }", "image.env.A", "string"),
        ("env = { }", 'env = { "A-B" = "1" }', "image.env.A-B", "no variable name"),
        ("build_secrets = []", 'build_secrets = ["a b"]', "image.build_secrets.0", "variable name"),
        (
            "system_packages = []",
            'system_packages = ["-o x"]',
            "image.system_packages.0",
            "package",
        ),
        ('config = ["py', 'config = ["../py', "suites.0.config.0", "relative path inside"),
        ('select = ["tests"]', 'select = ["/t"]', "suites.0.select.0", "relative path inside"),
        ('select = ["tests"]', 'select = ["../t::x"]', "suites.0.select.0", "relative path inside"),
        ('select = ["tests"]', "select = []", "suites.0.select", "at least 1"),
        ('select = ["tests"]', 'select = "tests"', "suites.0.select", "list"),
        ('runner = "pytest"', 'runner = "py test"', "suites.0.runner", "no runner"),
        ("timeout_sec = 60.0", "timeout_sec = 0", "suites.0.timeout_sec", "greater than 0"),
        ("timeout_sec = 60.0", "timeout_sec = inf", "suites.0.timeout_sec", "finite"),
        ("timeout_sec = 60.0", 'timeout_sec = "1"', "suites.0.timeout_sec", "number"),
        ('permitted = ["src/**"', 'permitted = ["!src/**"', "edits.permitted.0", "no glob"),
        ('permitted = ["src/**"', 'permitted = ["../src/**"', "edits.permitted.0", "relative glob"),
        ('permitted = ["src/**"', 'permitted = [""', "edits.permitted.0", "no glob"),
        ("processes = 64", "processes = true", "limits.processes", "integer"),
        ("files = 5000", "files = -1", "limits.files", "greater than"),
        ("services = []", 'services = [{name = "db"}]', "services.0.start", "field required"),
        ('dockerfile = "D', f'digest = "sha256:{"0" * 64}"\ndockerfile = "D', "image", "exclude"),
        ('dockerfile = "D', 'digest = "latest"\ndockerfile = "D', "image.digest", "no digest"),
        ("[edits]", '[[suites]]\nname="unit"\nselect=["a"]\n[edits]', "", "'unit' is there twice"),
    ],
)
def test_a_mistake_is_named(
    tiny: Environment, old: str, new: str, field: str, problem: str
) -> None:
    path = edit(tiny, old, new)
    with pytest.raises(DataError) as caught:
        load_environment(tiny.folder)
    assert caught.value.path == path
    assert caught.value.field == field
    assert problem in caught.value.problem
    assert f"{path}" in str(caught.value)


def test_the_line_is_named(tiny: Environment) -> None:
    path = edit(tiny, "memory_mb = 512", "memory_bm = 512")
    line = path.read_text().splitlines().index("memory_bm = 512") + 1
    with pytest.raises(DataError, match=rf"environment\.toml:{line}: limits\.memory_bm"):
        load_environment(tiny.folder)


def test_what_is_not_toml(tiny: Environment) -> None:
    edit(tiny, "subdir = ", "subdir ")
    with pytest.raises(DataError, match=r"environment\.toml:7: not TOML"):
        load_environment(tiny.folder)
    (tiny.folder / "environment.toml").write_bytes(b'name = "a"\nx = "\xff"\n')
    with pytest.raises(DataError, match=r"environment\.toml:2: not UTF-8"):
        load_environment(tiny.folder)


def test_a_folder_without_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file; every environment's folder has one"):
        load_environment(tmp_path)


def test_a_link_out_of_the_folder_is_refused(tiny: Environment) -> None:
    lock = tiny.folder / "requirements.lock"
    lock.unlink()
    lock.symlink_to("/etc/hostname")
    with pytest.raises(DataError, match="leads out of the folder"):
        load_environment(tiny.folder)


@pytest.mark.parametrize(
    "spdx",
    [
        "MIT",
        "MIT OR Apache-2.0",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "LicenseRef-own",
        "GPL-3.0+",
    ],
)
def test_licences(tiny: Environment, spdx: str) -> None:
    edit(tiny, '"Apache-2.0"', f'"{spdx}"')
    assert load_environment(tiny.folder).license == spdx


def test_the_digest_follows_all_that_it_covers(tiny: Environment) -> None:
    seen = {tiny.digest}
    for name in ("environment.toml", "requirements.lock", "Dockerfile", "history.fast-export"):
        with (tiny.folder / name).open("a") as file:
            file.write("\n")
        seen.add(load_environment(tiny.folder).digest)
    assert len(seen) == 5
    last = load_environment(tiny.folder).digest
    (tiny.folder / "README.md").write_text("said otherwise")
    (tiny.folder / "tasks.jsonl").write_text("")
    assert load_environment(tiny.folder).digest == last


def test_the_tiny_environment_is_the_same_everywhere(tmp_path: Path, tiny: Environment) -> None:
    again = make_tiny_environment(tmp_path / "again")
    assert again.digest == tiny.digest
    repository = tmp_path / "imported"
    repository.mkdir()
    git(repository, "init", "-q", "--bare", "-b", "main")
    git(repository, "fast-import", "--quiet", stdin=tiny.history.read_text())
    assert git(repository, "rev-parse", "main").strip() == tiny.head
    assert git(repository, "rev-list", "--count", "main").strip() == "3"
