"""From a package to an environment: our own packages on an index on this machine, then toolz.

What tests need is resolved from the index that the user's pip uses, so all of these need one.
"""

import inspect
import json
import subprocess
import sys
import textwrap

import pytest
from support import git

from codegym import authoring
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.tasks import load_environment
from codegym.tasks.sources import environment

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("index", "at_home")]

INFO = "Metadata-Version: 2.4\nName: {0}\nVersion: 1.0\nSummary: Halves\nLicense: MIT\n"
HALVES = "def half(number):\n    return number / 2\n"
TESTS = """\
import os
from importlib.metadata import version

import pytest
from halves import half


def test_half():
    assert half(4) == 2


@pytest.mark.parametrize("number", [0, 1])
def test_zero(number):
    assert half(number) == 0


@pytest.mark.skip(reason="not here")
def test_skipped():
    assert half(4) == 2


def test_fails():
    assert half(4) == 3


def test_fails_not():
    assert half(6) == 3


@pytest.fixture
def absent():
    raise OSError("no such thing")


def test_error(absent):
    assert half(6) == 3


def test_its_metadata_is_there():
    assert version("halves") == "1.0"


def test_it_is_in_a_sandbox():
    assert os.getcwd() == "/workspace", os.getcwd()
"""

SETUP = "import pathlib\npathlib.Path({mark!r}).write_text('ran')\n"


def halves(sdist, mark="/nonexistent", **more):
    """A package whose every part that a build would run leaves a mark."""
    setup = SETUP.format(mark=str(mark))
    return sdist(
        {
            "PKG-INFO": INFO.format("halves"),
            "setup.py": setup,
            "backend.py": setup,
            "pyproject.toml": (
                '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            ),
            "src/halves/__init__.py": HALVES,
            "tests/conftest.py": "collect_ignore = []\n",
            "tests/test_halves.py": TESTS,
            "tests/test_broken.py": "import not_there\n",
            **more,
        },
        folder="halves-1.0",
    )


async def test_a_package_becomes_an_environment(setting, sdist, serve_files, at_home, tmp_path):
    mark = tmp_path / "mark"
    serve_files("halves", "halves-1.0.tar.gz", halves(sdist, mark))
    added = await authoring.add_environment("pypi:Halves==1.0", setting)
    assert not mark.exists()
    assert added.name == "halves"
    assert (added.tests, len(added.excluded)) == (5, 5), added.excluded
    assert added.excluded == {
        "tests/test_broken.py": "cannot be collected",
        "tests/test_halves.py::test_error": "fails before it starts",
        "tests/test_halves.py::test_fails": "fails",
        "tests/test_halves.py::test_skipped": "skipped",
        "tests/test_halves.py::test_zero[1]": "fails",
    }
    (broken,) = [note for note in added.notes if "test_broken.py" in note]
    assert broken.startswith("tests/test_broken.py cannot be collected: ")
    assert "No module named 'not_there'" in broken
    home = environment("halves")
    assert home.folder == at_home / ".codegym" / "environments" / "halves"
    assert sorted(path.name for path in home.folder.iterdir()) == [
        "Dockerfile",
        "README.md",
        "environment.toml",
        "history.fast-export",
        "requirements.lock",
    ]
    assert home.suite("unit").deselect == tuple(added.excluded)
    assert (home.license, home.summary, home.language) == ("MIT", "Halves", "python")
    assert "skipped" in (home.folder / "README.md").read_text()
    assert "pytest==" in home.image.requirements.read_text()
    assert [path.name for path in (at_home / ".codegym").iterdir()] == ["environments"]
    with pytest.raises(UsageError, match="is there already"):
        await authoring.add_environment("pypi:halves==1.0", setting)


async def test_the_same_package_makes_the_same_environment(setting, sdist, serve_files, tmp_path):
    serve_files("halves", "halves-1.0.tar.gz", halves(sdist))
    roots = [tmp_path / "a" / "environments", tmp_path / "b" / "environments"]
    added = [await authoring.add_environment("pypi:halves==1.0", setting, root=r) for r in roots]
    first, second = (load_environment(one.folder) for one in added)
    assert first.digest == second.digest
    assert first.head == second.head


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"tests/test_halves.py": "def test_no():\n    assert 0\n"}, UsageError, "none passes"),
        ({"tests/test_halves.py": "import not_there\n"}, UsageError, "cannot be collected"),
        ({"tests/conftest.py": "import not_there\n"}, UsageError, "do not run"),
        (
            {"tests/conftest.py": "def pytest_ignore_collect(no_such): ...\n"},
            UsageError,
            "no test was reported; the run ended with 1: .*(no_such|PluginValidationError)",
        ),
        ({"pytest.ini": "[pytest]\naddopts = --cov\n"}, UsageError, "--cov"),
        (
            {"src/halves/fast.c": ""},
            UsageError,
            r"compiled parts \(src/halves/fast.c\), and no wheel of it fits.*pip wheel.*--with",
        ),
        ({"PKG-INFO": INFO.format("thirds")}, DataError, "is of 'thirds'"),
        (
            {"PKG-INFO": INFO.format("halves") + "Requires-Dist: x @ file:///x\n"},
            UsageError,
            "no package of an index",
        ),
        (
            {"PKG-INFO": INFO.format("halves") + "Requires-Dist: pytest<1\n"},
            UsageError,
            "cannot be had from wheels",
        ),
    ],
)
async def test_what_cannot_be_one_is_refused(
    setting, sdist, serve_files, at_home, more, error, said
):
    serve_files("halves", "halves-1.0.tar.gz", halves(sdist, **more))
    with pytest.raises(error, match=said):
        await authoring.add_environment("pypi:halves==1.0", setting)
    assert not list(at_home.glob(".codegym/*/*"))
    assert not list(at_home.glob(".codegym/.adding-*"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("pypi:pluggy==1.5.0", "part of what runs the tests"),
        ("pypi:tomli==2.0.0", "mirrored by the standard library"),
    ],
)
async def test_what_every_sandbox_holds_is_refused(setting, spec, said):
    with pytest.raises(UsageError, match=said):
        await authoring.add_environment(spec, setting)


async def test_a_copy_of_what_the_image_holds_is_refused(setting, sdist, serve_files):
    source = inspect.getsource(textwrap)
    serve_files("halves", "halves-1.0.tar.gz", halves(sdist, **{"src/halves/wrap.py": source}))
    with pytest.raises(UsageError, match="of its functions from elsewhere"):
        await authoring.add_environment("pypi:halves==1.0", setting)


async def test_a_changed_archive_is_refused(setting, sdist, serve_files):
    serve_files("halves", "halves-1.0.tar.gz", halves(sdist), sha256="0" * 64)
    with pytest.raises(DataError, match="the index says 0000"):
        await authoring.add_environment("pypi:halves==1.0", setting)


async def test_a_package_that_is_nowhere(setting, at_home):
    with pytest.raises(NotFoundError, match="no package named"):
        await authoring.add_environment("pypi:codegym-there-is-no-such-package==1", setting)
    with pytest.raises(NotFoundError, match=r"toolz.*'0\.0\.0'"):
        await authoring.add_environment("pypi:toolz==0.0.0", setting)
    assert not (at_home / ".codegym").exists()


@pytest.mark.timeout(400)
def test_toolz_from_the_index_to_a_solved_task(at_home):
    def codegym(*arguments):
        command = [sys.executable, "-m", "codegym", *arguments, "--json"]
        ran = subprocess.run(
            command, cwd=at_home, capture_output=True, text=True, timeout=110, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    added = codegym("environment", "add", "pypi:toolz==1.1.0")
    assert (added["name"], added["tests"], added["excluded"]) == ("toolz", 186, {})

    # As a user does: a copy of the code, a bug in it, and what git says of it.
    copy = at_home / "copy"
    copy.mkdir()
    git(copy, "init", "-q", "-b", "main")
    history = at_home / ".codegym/environments/toolz/history.fast-export"
    git(copy, "fast-import", "--quiet", stdin=history.read_text())
    git(copy, "reset", "-q", "--hard", "main")
    file = copy / "toolz" / "itertoolz.py"
    right = "itertools.islice(seq, 0, None, n)"
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, "itertools.islice(seq, 1, None, n)"))
    (at_home / "bug.patch").write_text(git(copy, "diff"))

    task = codegym("tasks", "from-patch", "toolz", "bug.patch")["task"]
    assert task["fail_to_pass"] == ["toolz/tests/test_itertoolz.py::test_take_nth"]
    assert len(task["pass_to_pass"]) == 185
    play = ("run", "CodeGym/FixTests-v0", "--tasks", "toolz")
    oracle = codegym(*play, "--policy", "oracle", "--out", "runs/oracle")
    noop = codegym(*play, "--policy", "noop", "--out", "runs/noop")
    assert (oracle["solve_rate"], noop["solve_rate"]) == (1, 0)
    assert oracle["faults"] == noop["faults"] == 0
    assert codegym("check", "toolz", "--repeats", "2")["holds"] is True
    assert [path.name for path in (at_home / ".codegym").iterdir()] == ["environments"]
