"""From a repository or folder to an environment, in real sandboxes.

What tests need is resolved from the index that the user's pip uses, so these need one.
"""

import os

import pytest
from support import git

from codegym import authoring
from codegym.errors import UsageError
from codegym.tasks.sources import environment
from codegym.workspace.history import open_history

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("index", "at_home")]

PYPROJECT = """\
[build-system]
requires = ["setuptools", "setuptools-scm"]
build-backend = "none_such"
[project]
name = "monoapi"
dynamic = ["version"]
[project.scripts]
api = "api:main"
[tool.setuptools_scm]
version_file = "src/api/_version.py"
"""
INIT = "from api._version import version\n\n\ndef main():\n    return {0}\n"
FIX_TEST = """\
from importlib.metadata import entry_points, version

import api


def test_main():
    assert api.main() == 2


def test_version():
    assert api.version == version("monoapi") == "1.1"
    assert "api" in entry_points(group="console_scripts").names
"""
OTHERS = """\
import socket
import unittest


class TestCase(unittest.TestCase):
    def test_of_unittest(self):
        self.assertTrue(True)


def test_network():
    socket.create_connection(("example.org", 80), timeout=3)


def test_service():
    socket.create_connection(("127.0.0.1", 5432), timeout=3)


def test_plugin(mocker):
    pass


def test_writes_outside():
    with open("/usr/lib/planted", "w"):
        pass
"""
FIRST = "import state\n\n\ndef test_first():\n    state.seen.append(1)\n"
SECOND = "import state\n\n\ndef test_second():\n    assert state.seen == [1]\n"


def commit(folder, message, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def monorepo(tmp_path):
    """Two projects, one with a version by tag, a script and a fix in its history."""
    folder = tmp_path / "mono"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    files = {
        "services/api/pyproject.toml": PYPROJECT,
        "services/api/src/api/__init__.py": INIT.format(1),
        "services/api/tests/test_api.py": FIX_TEST.replace("== 2", "== 1"),
        "services/api/tests/state.py": "seen = []\n",
        "services/api/tests/test_a.py": FIRST,
        "services/api/tests/test_b.py": SECOND,
        "services/api/tests/test_others.py": OTHERS,
        "other/setup.py": "raise SystemExit(1)\n",
    }
    commit(folder, "first", files)
    fixed = {"src/api/__init__.py": INIT.format(2), "tests/test_api.py": FIX_TEST}
    commit(folder, "main gives 2", {f"services/api/{name}": text for name, text in fixed.items()})
    git(folder, "tag", "v1.1")
    return folder


async def test_a_project_of_a_monorepo_and_its_history(setting, monorepo):
    added = await authoring.add_environment(str(monorepo), setting, subdir="services/api")
    excluded = {name.rpartition("::")[2]: reason for name, reason in added.excluded.items()}
    assert excluded == {
        "test_network": "needs network",
        "test_service": "needs a service",
        "test_plugin": "needs a plug-in of pytest",
        "test_second": "depends on the order of tests",
        "test_writes_outside": "fails",
    }
    home = environment("monoapi")
    assert home.subdir == "services/api"
    assert home.head == git(monorepo, "rev-parse", "HEAD").strip()
    assert home.image.env == {"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_MONOAPI": "1.1"}
    assert "services/api/src/api/**" in home.edits.permitted
    assert [each.subject for each in open_history(home).commits(home.head)] == [
        "first",
        "main gives 2",
    ]
    made = await authoring.from_history(home, setting)
    assert [task.fail_to_pass for task in made.tasks] == [("tests/test_api.py::test_main",)]


async def test_a_monorepos_top_says_which_projects_there_are(setting, tmp_path, at_home):
    for name in ("api", "web"):
        project = tmp_path / "mono" / "services" / name
        (project / name).mkdir(parents=True)
        (project / "pyproject.toml").write_text(f'[project]\nname = "{name}"\nversion = "1"\n')
        (project / name / "__init__.py").write_text("ONE = 1\n")
        (project / "tests").mkdir()
        text = f"from {name} import ONE\n\n\ndef test_one():\n    assert ONE == 1\n"
        (project / "tests" / f"test_{name}.py").write_text(text)
    below = r"projects below it: services/api, services/web\. Name one with --subdir"
    with pytest.raises(UsageError, match=below):
        await authoring.add_environment(str(tmp_path / "mono"), setting)


async def test_a_plain_folder(setting, tmp_path, at_home):
    folder = tmp_path / "My Thing"
    for name, text in {
        "thing.py": "def f():\n    return 1\n",
        "test_thing.py": "from thing import f\n\n\ndef test_f():\n    assert f() == 1\n",
    }.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    killed = at_home / ".codegym" / ".adding-0123"
    killed.mkdir(parents=True)
    os.utime(killed, (0, 0))
    added = await authoring.add_environment(str(folder), setting)
    assert (added.name, added.tests, added.excluded) == ("my-thing", 1, {})
    again = await authoring.add_environment(str(folder), setting, name="another")
    assert environment("another").head == environment("my-thing").head
    assert again.folder.name == "another"
    with pytest.raises(UsageError, match="give another --name"):
        await authoring.add_environment(str(folder), setting)
    assert [path.name for path in at_home.glob(".codegym/*")] == ["environments"]


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("import time\n\n\ndef test_f():\n    time.sleep(60)\n", r"none passes.*\(1 too slow\)"),
        ("import time\n\ntime.sleep(60)\n", r"do not end.*--timeout-sec"),
        (
            "import socket\n\n\ndef test_f():\n    socket.create_connection(('127.0.0.1', 5432))\n",
            r"need a service that nobody declared \(PostgreSQL, by the port\).*--with",
        ),
        ("def test_f():\n    assert 0\n", "none passes every time"),
        ("# \xe9\nprint('no tests')\n", "no test was reported"),
    ],
)
async def test_suites_that_are_refused(setting, tmp_path, at_home, test, said):
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "bad.py").write_text("")
    (folder / "test_bad.py").write_bytes(test.encode("latin-1"))
    with pytest.raises(UsageError, match=said):
        await authoring.add_environment(str(folder), setting, timeout_sec=5.0)
    assert not list(at_home.glob(".codegym/*/*"))
    assert not list(at_home.glob(".codegym/.adding-*"))
