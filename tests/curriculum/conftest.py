"""A place where ``tiny`` has tasks."""

import pytest
from support import make_tiny_home


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=6)


@pytest.fixture
def at_home(home, tmp_path, monkeypatch):
    """A folder of this test alone in which ``tiny`` has six tasks."""
    (tmp_path / ".codegym").mkdir()
    (tmp_path / ".codegym" / "environments").symlink_to(home / ".codegym" / "environments")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write_spec(at_home):
    """Write a spec of ``tiny``; returns its path."""

    def write(text: str = "", name: str = "own") -> str:
        head = f'name = "{name}"\nsummary = "For a test"\n'
        pool = "" if "[pool]" in text else '[pool]\ntasks = ["tiny"]\n'
        path = at_home / f"{name}.toml"
        path.write_text(f"{head}{text}\n{pool}")
        return str(path)

    return write
