"""What is read of projects as text: names, needs, versions, layouts, and what is refused."""

import pytest

from codegym.authoring.packages.declared import read_declared
from codegym.authoring.packages.layout import find_layout
from codegym.authoring.packages.needs import constraints, needs_of_tests, own_needs
from codegym.authoring.packages.projects import (
    environment_name,
    generated_files,
    inside,
    read_project,
)
from codegym.authoring.packages.versions import from_tags
from codegym.errors import DataError, UsageError
from codegym.types import File

TEST = "def test_it():\n    assert True\n"


def tree(**files):
    """Path to text or bytes."""
    return {
        path: File(text if isinstance(text, bytes) else text.encode())
        for path, text in sorted(files.items())
    }


PYPROJECT = """\
[project]
name = "Some.Thing"
description = "Things"
license = {text = "MIT"}
requires-python = ">=3.9"
dependencies = ["attrs>=20"]
dynamic = ["version"]
[project.optional-dependencies]
test = ["some-thing[fast]", "pytest-cov", "freezegun"]
fast = ["cachetools"]
[project.scripts]
thing = "some_thing:main"
[dependency-groups]
base = ["tomli"]
tests = [{include-group = "base"}, "faker"]
"""


def test_pyproject_says_what_is_needed():
    made = tree(**{"pyproject.toml": PYPROJECT, "some_thing/__init__.py": "__version__ = '3.4'\n"})
    project = read_project(made, "", "folder")
    info = project.info
    assert (info.name, info.version, info.license) == ("Some.Thing", "3.4", "MIT")
    assert (info.summary, info.python, info.requires) == ("Things", ">=3.9", ("attrs>=20",))
    # A tool that only reports is left out; the project stands for the extra it is named with.
    assert info.test_requires == ("freezegun", "tomli", "faker", "cachetools")
    files = generated_files(
        made, project, find_layout(made | tree(**{"tests/test_x.py": TEST}), "x")
    )
    assert sorted(files) == [
        "some_thing-3.4.dist-info/METADATA",
        "some_thing-3.4.dist-info/entry_points.txt",
    ]
    assert b"Requires-Dist: attrs>=20" in files["some_thing-3.4.dist-info/METADATA"].data
    assert b"thing = some_thing:main" in files["some_thing-3.4.dist-info/entry_points.txt"].data


def test_setup_cfg_and_setup_py_are_read_and_not_run():
    cfg = (
        "[metadata]\nname = old\nversion = attr: old.__version__\n"
        "[options]\ninstall_requires =\n    six  # yes\n    attrs\n"
        "[options.extras_require]\ntests = mock\n"
    )
    setup = (
        "raise SystemExit('run')\nNEEDS = ['six', 'click']\nfrom setuptools import setup\n"
        "setup(name='older', version='1.2', install_requires=NEEDS, tests_require='nose',\n"
        "      extras_require={'test': ['mock'], 'x': [len('')]})\n"
    )
    declared = read_declared(tree(**{"setup.cfg": cfg}))
    assert (declared.name, declared.version) == ("old", "")
    assert declared.requires == ("six", "attrs")
    assert declared.extras == {"tests": ("mock",)}
    declared = read_declared(tree(**{"setup.py": setup}))
    assert (declared.name, declared.version) == ("older", "1.2")
    assert declared.requires == ("six", "click")
    assert declared.extras == {"test": ("mock",), "x": (), "tests": ("nose",)}
    assert read_declared(tree(**{"setup.py": b"\xff\xfe ("})).name == ""


@pytest.mark.parametrize(
    ("files", "needs"),
    [
        ({"tox.ini": "[testenv]\ndeps =\n  hypothesis\n  py311: mock>=2\n  -rmore.txt\n  .[x]\n",
          "more.txt": "faker==1 # why\n-e .\nhttps://x.example/y.whl\n"},
         ("hypothesis", "mock>=2", "faker==1")),
        ({"requirements-test.txt": "-r requirements/base.txt\nmock \\\n  >=2\n",
          "requirements/base.txt": "-r ../requirements-test.txt\nsix --hash=sha256:00\n"},
         ("six", "mock >=2")),
        ({"requirements/dev.txt": "sphinx\nmypy\nattrs\n"}, ("attrs",)),
        ({"pyproject.toml": '[dependency-groups]\ndev = ["ruff", "trio"]\n'}, ("trio",)),
        ({"pyproject.toml": '[tool.poetry.group.test.dependencies]\nmock = "^1.2"\nsix = "*"\n'},
         ("mock>=1.2,<2", "six")),
        ({"pyproject.toml": '[dependency-groups]\na = [{include-group = "a"}]\n'}, ()),
    ],
)  # fmt: skip
def test_what_tests_need_is_found_where_projects_write_it(files, needs):
    made = tree(**files)
    assert needs_of_tests(made, read_declared(made)) == needs


def test_lock_files_pin_versions():
    uv = '[[package]]\nname = "Attrs"\nversion = "23.1"\n[[package]]\nname = "me"\nsource = {}\n'
    assert constraints(tree(**{"uv.lock": uv})) == ("attrs==23.1",)
    pipfile = '{"default": {"six": {"version": "==1.16"}}, "develop": {"x": {"git": "y"}}}'
    assert constraints(tree(**{"Pipfile.lock": pipfile})) == ("six==1.16",)
    assert constraints(tree()) == ()


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"pyproject.toml": b"name = '\xff'"}, "pyproject.toml"),
        ({"setup.cfg": b"[metadata]\nname = \xff\n"}, "setup.cfg"),
        ({"tox.ini": "no section\n"}, "tox.ini"),
        ({"requirements-test.txt": b"\xff\xfea\x00"}, "requirements-test.txt"),
        ({"uv.lock": "[[package"}, "uv.lock"),
    ],
)
def test_what_cannot_be_read_is_named(files, where):
    with pytest.raises(DataError, match=rf"{where}.*cannot be read"):
        read_project(tree(**files), "", "x")


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ("v1.2.3-0-gabc", "1.2.3"),
        ("1.2-4-gabc", "1.3.dev4"),
        ("thing-2.0rc1-0-gabc", "2.0rc1"),
        ("release-2024-3-gabc", "2025.dev3"),
        ("odd-0-gabc", "0.0.0"),
        ("", "0.0.0"),
    ],
)
def test_versions_by_tag(described, version):
    assert from_tags(described) == version


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"pyproject.toml": '[build-system]\nrequires = ["setuptools-scm"]\n'
          '[tool.setuptools_scm]\nversion_file = "src/pkg/_version.py"\n'}, "src/pkg/_version.py"),
        ({"pyproject.toml": '[build-system]\nrequires = ["hatch-vcs"]\n'
          '[tool.hatch.build.hooks.vcs]\nversion-file = "src/pkg/_v.py"\n'}, "src/pkg/_v.py"),
        ({"setup.py": "import setuptools\nsetuptools.setup(use_scm_version="
          "{'write_to': 'src/pkg/version.txt'})\n"}, "src/pkg/version.txt"),
    ],
)  # fmt: skip
def test_the_version_file_of_a_build_is_generated(files, path):
    made = tree(**files, **{"src/pkg/__init__.py": "", "tests/test_x.py": TEST})
    project = read_project(made, "v1.5-0-gabc", "pkg")
    written = generated_files(made, project, find_layout(made, "x"))
    assert b"1.5" in written[path].data
    if path.endswith(".py"):
        namespace = {}
        exec(written[path].data, namespace)
        assert namespace["__version__"] == "1.5"
        assert namespace["version_tuple"] == (1, 5)


@pytest.mark.parametrize(
    ("files", "import_path", "packages", "tests"),
    [
        (("pkg/__init__.py", "tests/test_x.py"), ".", ("pkg",), ("tests",)),
        (("src/pkg/__init__.py", "tests/test_x.py"), "src", ("src/pkg",), ("tests",)),
        (("src/ns/pkg/__init__.py", "tests/test_x.py"), "src", ("src/ns",), ("tests",)),
        (("ns/pkg/__init__.py", "test/test_x.py"), ".", ("ns",), ("test",)),
        (("mod.py", "test_mod.py"), ".", ("mod.py",), ("test_mod.py",)),
        (("src/mod.py", "tests/test_mod.py"), "src", ("src/mod.py",), ("tests",)),
        (("lib/pkg/__init__.py", "tests/test_x.py"), "lib", ("lib/pkg",), ("tests",)),
        (("pkg/__init__.py", "pkg/tests/test_x.py"), ".", ("pkg",), ("pkg/tests",)),
    ],
)
def test_layouts(files, import_path, packages, tests):
    found = find_layout(tree(**dict.fromkeys(files, TEST)), "x")
    assert (found.import_path, found.packages, found.tests) == (import_path, packages, tests)


def test_a_build_may_name_the_folder():
    where = '[tool.setuptools.packages.find]\nwhere = ["python"]\n'
    made = tree(**{"pyproject.toml": where, "python/p/__init__.py": "", "tests/test_x.py": TEST})
    assert find_layout(made, "x").import_path == "python"


UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
DERIVED = "from base import MyTestBase\nclass Deeper(MyTestBase):\n    def testIt(self): ...\n"


def test_unittest_files_by_another_name_are_tests():
    made = tree(
        **{
            "thing.py": "",
            "testing.py": "def test(): ...\n",
            "testthing.py": UNITTEST,
            "more/tests.py": DERIVED,
            "tests/test_a.py": TEST,
            "tests/testb.py": UNITTEST,
            "tests/helper.py": UNITTEST,
        }
    )
    found = find_layout(made, "x")
    assert found.tests == ("more/tests.py", "tests", "tests/testb.py", "testthing.py")
    assert "testthing.py" not in found.packages


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\npython_files = ['*_tests.py', 'x.py']\n"),
        ("setup.cfg", "[tool:pytest]\npython_files = *_tests.py\n"),
        ("pytest.ini", "[pytest]\npython_files = *_tests.py x.py\n"),
        ("tox.ini", "[pytest]\npython_files =\n  x.py\n  *_tests.py\n"),
    ],
)
def test_names_of_test_files_are_as_configured(path, text):
    made = tree(**{"thing.py": "", "tests/a_tests.py": TEST, "test_no.py": TEST, path: text})
    assert find_layout(made, "x").tests == ("tests",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("thing-1.0.tar.gz", "add their repository instead"),
        ("thing", r"below it: services/api, web\. Name one with --subdir"),
    ],
)
def test_where_tests_may_be_that_are_not_here(name, said):
    made = tree(**{"a.py": "", "services/api/setup.py": "", "web/pyproject.toml": ""})
    with pytest.raises(UsageError, match=said):
        find_layout(made, name)
    with pytest.raises(UsageError, match="tasks are made of tests"):
        find_layout(tree(**{"a.py": ""}), "thing")


def test_a_folder_of_a_monorepo():
    made = tree(**{"services/api/a.py": "", "services/b.py": "", "c.py": ""})
    assert list(inside(made, "services/api")) == ["a.py"]
    assert inside(made, ".") is made
    with pytest.raises(UsageError, match=r"--subdir service: no such folder; there are services"):
        inside(made, "service")


def test_names_of_environments():
    assert environment_name("", "My_Thing 2") == "my-thing-2"
    assert environment_name("own", "x") == "own"
    with pytest.raises(UsageError, match="--name"):
        environment_name("", "…")


@pytest.mark.parametrize("stated", ["a/b", "../x", "x y", "żółw", "Mine", "-x", "x" * 65])
def test_a_name_that_was_stated_is_taken_as_it_is_or_not_at_all(stated):
    with pytest.raises(UsageError, match="cannot name an environment: give --name one of"):
        environment_name(stated, "thing")


def test_requirements_stand_for_what_is_not_declared():
    made = tree(**{"requirements.txt": "attrs\n"})
    assert own_needs(made, read_declared(made)) == ("attrs",)
