"""What a configuration file says to pytest, and what it says to others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.configuration import OWN, SHARED, pytest_part

NAMES = sorted({*OWN, *SHARED})


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pyproject.toml", b"[tool.ruff]\nx = 1\n", b"[tool.black]\n[project]\nname='pytest'\n"),
        (
            "pyproject.toml",
            b"[tool.pytest.ini_options]\na='1'#x\n",
            b"[tool.pytest]\nini_options={a='1'}",
        ),
        ("setup.cfg", b"[metadata]\nname=x\n", b"[options]\ntests_require = pytest\n"),
        ("tox.ini", b"[pytest]\naddopts=-q\n", b"[tox]\nenvlist=py\n[pytest]\naddopts = -q\n"),
        (".coveragerc", b"", b"[run]\nbranch = true\n"),
        ("setup.cfg", b"", b"\xff\xfe not text"),
    ],
)
def test_the_same_to_pytest(name, before, after):
    assert pytest_part(name, before) == pytest_part(name, after)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("pytest.ini", b"[pytest]\n", b"[pytest]\n\n"),
        ("pyproject.toml", b"", b"[tool.pytest.ini_options]\naddopts = '--co'\n"),
        ("pyproject.toml", b"[tool.pytest]\naddopts=['-q']", b"[tool.pytest]\naddopts=['-x']"),
        ("setup.cfg", b"[tool:pytest]\naddopts=-q\n", b"[tool:pytest]\n"),
        ("tox.ini", b"", b"[pytest]\naddopts=-q\n"),
        ("tox.ini", b"", b"[pytest\naddopts=-q\n"),
    ],
)
def test_not_the_same_to_pytest(name, before, after):
    assert pytest_part(name, before) != pytest_part(name, after)


@given(st.sampled_from(NAMES), st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_it_never_raises(name, data):
    assert pytest_part(name, data) == pytest_part(name, data)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_files_are_no_trouble(name):
    for data in (b"[" * 100_000, b"a = " + b"[" * 100_000, b"a=" + b"9" * 10_000, b"\0" * 1000):
        assert pytest_part(name, data) == pytest_part(name, data)
