"""The bundled data is found, in a checkout and in a wheel's layout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import codegym
from codegym import resources
from codegym.errors import UnavailableError

KINDS = ("environments", "curricula", "proxy")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_a_folder_with_a_readme(kind):
    assert (resources.data_root(kind) / "README.md").is_file()


def _copy_module(package: Path) -> None:
    package.mkdir(parents=True)
    source = Path(codegym.__file__).parent
    (package / "__init__.py").write_text("")
    for name in ("resources.py", "errors.py"):
        shutil.copy(source / name, package)


def _ask(cwd: Path, kind: str) -> subprocess.CompletedProcess[str]:
    code = f"from codegym.resources import data_root; print(data_root({kind!r}))"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_wheel_prefers_its_own_data_over_a_folder_beside_it(tmp_path):
    _copy_module(tmp_path / "codegym")
    (tmp_path / "codegym/_data/proxy").mkdir(parents=True)
    (tmp_path / "proxy").mkdir()
    assert _ask(tmp_path, "proxy").stdout.strip() == str(tmp_path / "codegym/_data/proxy")


def test_a_checkout_is_found_from_any_folder(tmp_path):
    _copy_module(tmp_path / "codegym")
    (tmp_path / "curricula").mkdir()
    assert _ask(tmp_path, "curricula").stdout.strip() == str(tmp_path / "curricula")


def test_a_broken_installation_says_what_is_missing_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "site-packages" / "codegym")
    with pytest.raises(UnavailableError, match=r"environments are missing.*Install CodeGym again"):
        resources.data_root("environments")
