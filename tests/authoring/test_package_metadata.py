"""What a source distribution says of itself and how it is laid out, read as text."""

import pytest

from codegym.authoring.packages.layout import find_layout, with_metadata
from codegym.authoring.packages.metadata import read_info
from codegym.errors import DataError, UsageError
from codegym.types import File

INFO = "Metadata-Version: 2.4\nName: Some.Pkg\nVersion: 1.0\n"


def tree(**files):
    return {name: File(text.encode()) for name, text in sorted(files["files"].items())}


def info(text, **files):
    return read_info(tree(files={"PKG-INFO": text, **files}), "pkg.tar.gz")


def layout(*names, **contents):
    files = {**dict.fromkeys(names, ""), **contents.get("files", {})}
    return find_layout(tree(files=files), "pkg.tar.gz")


def test_requirements_and_those_of_tests():
    found = info(
        INFO + "Requires-Python: >=3.8, <4\n"
        "Requires-Dist: attrs>=20\n"
        'Requires-Dist: tomli>=1; python_version < "3.11"\n'
        'Requires-Dist: hypothesis; extra == "test"\n'
        'Requires-Dist: mock>=4; (python_version < "3.12") and extra == "tests"\n'
        'Requires-Dist: sphinx; extra == "docs"\n'
    )
    assert found.requires == ("attrs>=20", 'tomli>=1; python_version < "3.11"')
    assert found.test_requires == ("hypothesis", 'mock>=4; (python_version < "3.12")')
    assert found.python == ">=3.8,<4"


def test_requirements_that_only_setuptools_wrote_down():
    requires = "attrs\n\n[:python_version < '3.11']\ntomli\n\n[test]\npytest-x\n\n[doc]\nsphinx\n"
    found = info(INFO, **{"pkg.egg-info/requires.txt": requires})
    assert found.requires == ("attrs", "tomli; (python_version < '3.11')")
    assert found.test_requires == ("pytest-x",)


def test_requirements_in_pyproject():
    text = '[project]\ndependencies = ["attrs"]\n[dependency-groups]\ntest = ["mock", {x = "y"}]\n'
    found = info(INFO, **{"pyproject.toml": text})
    assert (found.requires, found.test_requires) == (("attrs",), ("mock",))


@pytest.mark.parametrize(
    "requirement",
    [
        "evil @ git+https://example.org/evil",
        "evil@file:///tmp/evil",
        "--index-url=https://example.org",
        "-r /etc/passwd",
        "./local",
    ],
)
def test_what_pip_would_build_or_take_as_an_option_is_refused(requirement):
    with pytest.raises(UsageError, match="no package of an index"):
        info(f"{INFO}Requires-Dist: {requirement}\n")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0\n", "MIT OR Apache-2.0"),
        ("License: BSD-3-Clause\n", "BSD-3-Clause"),
        ("License: BSD\nClassifier: License :: OSI Approved :: BSD License\n", "BSD-3-Clause"),
        ("License: See the file\n", "LicenseRef-See-the-file"),
        ("Classifier: Topic :: MIT License\n", "LicenseRef-unknown"),
        ("", "LicenseRef-unknown"),
    ],
)
def test_the_licence_is_spdx(lines, expected):
    assert info(INFO + lines).license == expected


def test_without_pkg_info_it_is_none():
    with pytest.raises(DataError, match="no PKG-INFO"):
        read_info({}, "pkg.tar.gz")
    with pytest.raises(DataError, match="no name and version"):
        info("Name: x\n")


def test_a_flat_layout():
    found = layout(
        "toolz/__init__.py", "toolz/tests/test_a.py", "tlz/__init__.py", "docs/test_no.py",
        "setup.py", "tests/__init__.py", "tests/unit/a_test.py", "examples/__init__.py",
    )  # fmt: skip
    assert found.import_path == "."
    assert found.packages == ("tlz", "toolz")
    assert found.tests == ("tests", "toolz/tests")
    assert found.config == ()


def test_a_src_layout_and_its_settings():
    files = {"pyproject.toml": "[tool.pytest.ini_options]\n", "setup.cfg": "[metadata]\n"}
    found = layout(
        "src/pkg/__init__.py", "tests/conftest.py", "tests/test_a.py", "conftest.py", files=files
    )
    assert (found.import_path, found.packages) == ("src", ("src/pkg",))
    assert found.config == ("pyproject.toml", "conftest.py", "tests/conftest.py")


def test_a_module_alone():
    found = layout("setup.py", "six.py", "test_six.py")
    assert (found.packages, found.tests) == (("six.py",), ("test_six.py",))


@pytest.mark.parametrize(
    ("name", "said"),
    [("pkg/__init__.py", "no tests for pytest"), ("tests/test_a.py", "holds no package")],
)
def test_what_cannot_be_used_is_refused(name, said):
    with pytest.raises(UsageError, match=said):
        layout(name)


def test_metadata_is_made_only_where_there_is_none():
    flat = {"pkg/__init__.py": "", "tests/test_a.py": ""}
    made = tree(files=flat)
    about = info(INFO)
    found = with_metadata(made, find_layout(made, "x"), about)
    assert found.keys() - made.keys() == {"some_pkg-1.0.dist-info/METADATA"}
    assert found["some_pkg-1.0.dist-info/METADATA"].data == INFO.encode()
    brought = tree(files={**flat, "pkg.egg-info/PKG-INFO": INFO})
    assert with_metadata(brought, find_layout(brought, "x"), about) == brought
    elsewhere = tree(files={"src/pkg/__init__.py": "", "tests/test_a.py": "", "x.egg-info/a": ""})
    found = with_metadata(elsewhere, find_layout(elsewhere, "x"), about)
    assert "src/some_pkg-1.0.dist-info/METADATA" in found
