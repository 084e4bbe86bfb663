"""Suites with tests that keep them from their end, or that depend on their order."""

import pytest

from codegym import authoring
from codegym.authoring.packages.trying import DiscoveryRunner
from codegym.errors import UsageError
from codegym.tasks.sources import environment

HANGS = """\
import os
import re
import time

seen = []


def test_first():
    seen.append(1)


def test_second():
    assert seen


def test_sleeps():
    time.sleep(600)


def test_sleeps_not():
    pass


def test_in_c():
    re.match("(a*)*b", "a" * 60)


def test_exits():
    os._exit(0)


def test_crashes():
    os.abort()


def test_last():
    pass
"""


def project(folder, tests):
    folder.mkdir(exist_ok=True)
    (folder / "thing.py").write_text("")
    (folder / "test_thing.py").write_text(tests)
    return str(folder)


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
async def test_what_keeps_a_suite_from_its_end_is_left_out(setting, tmp_path):
    folder = project(tmp_path / "thing", HANGS)
    added = await authoring.add_environment(folder, setting, timeout_sec=4.5)
    assert added.excluded == {
        "test_thing.py::test_crashes": "ends the whole run",
        "test_thing.py::test_exits": "ends the whole run",
        "test_thing.py::test_in_c": "too slow",
        "test_thing.py::test_second": "depends on the order of tests",
        "test_thing.py::test_sleeps": "too slow",
    }
    assert added.tests == 3
    assert set(environment("thing").suite("unit").deselect) == set(added.excluded)


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
async def test_where_all_end_the_run_it_is_refused_after_a_few(setting, tmp_path):
    tests = "import os\n" + "".join(f"def test_{n}():\n    os._exit(0)\n" for n in range(9))
    with pytest.raises(UsageError, match=r"more than 5 of its tests .*test_0; .*test_5\. Mark"):
        await authoring.add_environment(project(tmp_path / "thing", tests), setting)


UNITTEST = """\
import unittest


def setUpModule():
    global number
    number = 1


class TestIt(unittest.TestCase):
    def testIt(self):
        self.assertEqual(number, 1)


def load_tests(loader, tests, pattern):
    return tests
"""


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
async def test_a_suite_of_unittest(setting, tmp_path):
    folder = tmp_path / "thing"
    for name in ("tests/tests.py", "tests/testmore.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(UNITTEST)
    (folder / "thing.py").write_text("")
    added = await authoring.add_environment(str(folder), setting)
    assert (added.tests, added.excluded) == (2, {})
    assert environment("thing").suite("unit").select == ("tests/testmore.py", "tests/tests.py")


@pytest.mark.parametrize(
    ("report", "missing"),
    [
        (b'{"begun": "a::t"}\n', [("a::t", "")]),
        (b'{"begun": "a::t"}\nTimeout (0:00:01)!\nThread', [("a::t", "It took too long.")]),
        (b'{"begun": "a::t"}\n{"id": "a::t", "outcome": "passed", "seconds": 1}\n', []),
        (b'{"begun": "a::t"}\n{"begun": "a::u"}\n', [("a::u", "")]),
        (b'{"begun": ["a"]}\n', []),
        (b'{"begun": \n{"begun": 1', []),
        (b"{" * 100_000, []),
    ],
)
def test_what_began_and_never_ended_is_missing(report, missing):
    found = DiscoveryRunner(1.0).parse(report)
    assert [(each.id, each.message) for each in found if each.outcome == "missing"] == missing
