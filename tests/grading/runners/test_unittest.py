"""The runner ``unittest``, on real suites in real sandboxes."""

PACKAGE = {
    "src/sums.py": "def add(a, b):\n    return a + b\n",
    "tests/__init__.py": "",
    "tests/support.py": "import unittest\n\n\nclass Shared(unittest.TestCase):\n"
    "    def test_shared(self):\n        pass\n",
}
OPTIONS = {"runner": "unittest", "select": ("tests",)}


def run(project, files, **options):
    return project.run("", {**PACKAGE, **files}, **{**OPTIONS, **options})


OUTCOMES = """
import unittest

from sums import add
from tests.support import Shared


class Sums(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)

    def test_is_wrong(self):
        self.assertEqual(add(1, 2), 4)

    def test_raises(self):
        raise KeyError("boo")

    @unittest.skip("not now")
    def test_is_skipped(self):
        pass

    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_passes_unexpectedly(self):
        pass

    def test_parts(self):
        for number in (1, 2, 3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 2)

    class Inner(unittest.TestCase):
        pass


class Fixture(unittest.TestCase):
    def setUp(self):
        raise OSError("no disk")

    def test_it(self):
        pass


class Class(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no disk")

    def test_it(self):
        pass


class Child(Sums):
    def test_is_wrong(self):
        pass

    def test_parts(self):
        pass


class Later(unittest.IsolatedAsyncioTestCase):
    async def test_awaits(self):
        self.assertTrue(add(0, 1))
"""


def test_outcomes_and_names(project):
    ran = run(project, {"tests/test_sums.py": OUTCOMES}, import_paths=("src",))
    name = "tests/test_sums.py::"
    outcomes = {one.removeprefix(name): how for one, how in ran.outcomes.items()}
    assert {one: how for one, how in outcomes.items() if not one.startswith("Child")} == {
        "Sums::test_adds": "passed",
        "Sums::test_is_wrong": "failed",
        "Sums::test_raises": "failed",
        "Sums::test_is_skipped": "skipped",
        "Sums::test_fails_as_expected": "skipped",
        "Sums::test_passes_unexpectedly": "failed",
        "Sums::test_parts": "failed",
        "Fixture::test_it": "error",
        "Class": "error",
        "Later::test_awaits": "passed",
        "Shared::test_shared": "passed",
    }
    assert outcomes["Child::test_is_wrong"] == outcomes["Child::test_adds"] == "passed"
    message = ran.message(f"{name}Sums::test_is_wrong")
    assert message == ("tests/test_sums.py:13: in test_is_wrong\nE   AssertionError: 3 != 4")
    assert "number=2" in ran.message(f"{name}Sums::test_parts")
    assert ran.run.result.exit_code == 1


def test_files_that_cannot_be_imported_and_names_outside_packages(project):
    files = {
        "tests/test_broken.py": "import gone\n",
        "tests/test_exit.py": "raise SystemExit(0)\n",
        "tests/test_skipped.py": "import unittest\nraise unittest.SkipTest('no')\n",
        "tests/test_loader.py": "import unittest\nclass A(unittest.TestCase):\n"
        "    def runTest(self): pass\ndef load_tests(*_): return unittest.TestSuite([A()])\n",
        "other/sub/case_test.py": "import sums, unittest\nclass A(unittest.TestCase):\n"
        "    def test_it(self): self.assertEqual(sums.add(1, 1), 2)\n",
    }
    ran = run(project, files, select=("tests", "other"), import_paths=("src",))
    assert ran.outcomes == {
        "tests/test_broken.py": "error",
        "tests/test_exit.py": "error",
        "tests/test_skipped.py": "skipped",
        "tests/test_loader.py::A::runTest": "passed",
        "other/sub/case_test.py::A::test_it": "passed",
    }
    assert "ModuleNotFoundError: No module named 'gone'" in ran.message("tests/test_broken.py")


def test_only_what_is_asked_for(project):
    text = (
        "import os, unittest\nclass A(unittest.TestCase):\n"
        "    def test_a(self): os._exit(0)\n    def test_b(self): pass\n"
    )
    ids = ["tests/test_a.py::A::test_b", "tests/test_gone.py::A::test_x"]
    assert run(project, {"tests/test_a.py": text}, ids=ids).outcomes == {ids[0]: "passed"}
    deselect = ("tests/test_a.py::A::test_a",)
    assert run(project, {"tests/test_a.py": text}, deselect=deselect).outcomes == {ids[0]: "passed"}


def test_what_ends_the_process_ends_the_report(project):
    text = (
        "import os, unittest\nclass A(unittest.TestCase):\n"
        "    def test_a(self): pass\n    def test_b(self): os._exit(0)\n"
        "    def test_c(self): pass\n"
    )
    assert run(project, {"tests/test_a.py": text}).outcomes == {
        "tests/test_a.py::A::test_a": "passed"
    }


def test_the_workspace_hides_nothing_of_the_runner(project):
    text = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    files = {"json.py": "raise SystemExit(0)\n", "unittest.py": "raise SystemExit(0)\n"}
    ran = run(project, {**files, "tests/test_a.py": text}, import_paths=(".",))
    assert ran.outcomes == {"tests/test_a.py::A::test_a": "passed"}
