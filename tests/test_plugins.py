"""Plug-ins: found by name, by reference and by entry point; loaded only when named."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym import plugins
from codegym.errors import NotFoundError, UsageError

EXAMPLE = Path(__file__).parents[1] / "docs/examples/plugin"
BUILTIN = {"noop": "json:dumps", "oracle": "json:loads"}


@dataclass(frozen=True)
class Options:
    seed: int
    ratio: float = 0.5
    names: tuple[str, ...] = ()
    mode: Literal["fast", "slow"] = "fast"
    loud: bool = False

    def __post_init__(self):
        if self.seed < 0:
            raise ValueError("seed must not be negative")


class Plain:
    pass


def test_a_builtin_name_loads_its_object():
    import json

    assert plugins.load("policies", "noop", BUILTIN) is json.dumps


def test_a_reference_loads_nested_attributes():
    assert plugins.load("tools", "pathlib:Path.cwd", {}) == Path.cwd


def test_an_unknown_name_says_the_nearest_and_all():
    with pytest.raises(
        NotFoundError, match=r"no policy named 'nop'; did you mean 'noop'\?"
    ) as info:
        plugins.load("policies", "nop", BUILTIN)
    assert "oracle" in str(info.value)
    assert info.value.exit_status == 2


def test_an_unknown_attribute_says_the_nearest():
    with pytest.raises(NotFoundError, match=r"json.*'dump_'.*did you mean 'dumps?'"):
        plugins.load("rewards", "json:dump_", {})


def test_a_module_that_cannot_be_imported_says_why():
    with pytest.raises(UsageError, match=r"reward 'no_such_module:x'.*No module named"):
        plugins.load("rewards", "no_such_module:x", {})


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example distribution, built and installed into a folder of its own."""
    work = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, work / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    flags = ["--no-deps", "--no-build-isolation", "--no-index"]
    target = work / "target"
    subprocess.run([*pip, *flags, "--target", str(target), str(work / "source")], check=True)
    return target


def test_an_entry_point_of_an_installed_distribution_is_loaded(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    reward = plugins.load("rewards", "frugal", {})
    assert reward.__module__ == "codegym_frugal"
    assert plugins.configure(reward, {"cost": "0.25"}).cost == 0.25


def test_nothing_is_imported_unless_it_is_named(installed):
    code = (
        "import sys; from codegym import plugins\n"
        "try: plugins.load('rewards', 'frugel', {'solved': 'json:dumps'})\n"
        "except Exception as error: print(error)\n"
        "print('codegym_frugal' in sys.modules)\n"
        "plugins.load('policies', 'tester', {})\n"
        "print('codegym_frugal' in sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(installed)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    message, before, after = run.stdout.splitlines()
    assert "did you mean 'frugal'?" in message
    assert (before, after) == ("False", "True")


def test_a_name_two_distributions_offer_is_refused(installed, tmp_path, monkeypatch):
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[codegym.rewards]\nfrugal = other:Frugal\n")
    monkeypatch.syspath_prepend(installed)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        UsageError, match=r"codegym-frugal and other; say which: codegym_frugal:Fru"
    ):
        plugins.load("rewards", "frugal", {})


def test_a_builtin_name_cannot_be_taken_over(installed, monkeypatch):
    import json

    monkeypatch.syspath_prepend(installed)
    assert plugins.load("rewards", "frugal", {"frugal": "json:dumps"}) is json.dumps


def test_options_are_read_as_their_fields_types():
    given = {"seed": "7", "ratio": "1.5", "names": "a, b,", "mode": "slow", "loud": "true"}
    assert plugins.configure(Options, given) == Options(7, 1.5, ("a", "b"), "slow", loud=True)


@given(st.integers(min_value=0), st.floats(allow_nan=False), st.booleans())
def test_what_is_written_as_text_is_read_back(seed, ratio, loud):
    text = {"seed": str(seed), "ratio": repr(ratio), "loud": str(loud)}
    assert plugins.configure(Options, text) == Options(seed, ratio, loud=loud)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Options needs the option 'seed'"),
        ({"seed": "x"}, "option of Options: seed='x': Input should be a valid integer"),
        ({"seed": "1", "mode": "medium"}, "mode='medium': Input should be 'fast' or 'slow'"),
        ({"seed": "1", "sed": "2"}, "no option of Options named 'sed'; did you mean 'seed'?"),
        ({"seed": "-1"}, "Options: seed must not be negative"),
    ],
)
def test_a_wrong_option_says_which_and_why(options, message):
    with pytest.raises(UsageError) as info:
        plugins.configure(Options, options)
    assert message in str(info.value)


def test_a_plugin_without_fields_takes_no_options():
    assert isinstance(plugins.configure(Plain, {}), Plain)
    with pytest.raises(NotFoundError, match="it has none"):
        plugins.configure(Plain, {"seed": "1"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def x(:\n", r"importing 'its_wrong' raised SyntaxError: .*line 1"),
        ("x = absent\n", r"importing 'its_wrong' raised NameError: name 'absent'"),
    ],
)
def test_a_module_that_cannot_be_run_is_told(tmp_path, monkeypatch, content, said):
    (tmp_path / "its_wrong.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=said):
        plugins.load("policies", "its_wrong:x", {})


def test_a_class_that_cannot_be_made_is_told():
    class Needs:
        def __init__(self, model):
            self.model = model

    with pytest.raises(UsageError, match=r"Needs cannot be made: TypeError: .*'model'"):
        plugins.configure(Needs, {})
