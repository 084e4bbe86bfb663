"""Running a suite as its environment says: discovery, the project's folder, import paths."""

from dataclasses import replace

import pytest

from codegym.grading.scene import Scene
from codegym.grading.suites import run_suite
from codegym.types import File


@pytest.mark.asyncio(loop_scope="module")
async def test_discovery_finds_what_the_suite_selects(range_):
    ready = range_.ready
    suite = replace(ready.suite, deselect=("tests/test_order.py::test_largest",))
    async with await range_.setting.backend.start(ready.grading_spec) as box:
        run = await run_suite(box, range_.environment, suite, ready.runner)
    found = {record.id: record.outcome for record in run.records}
    expected = dict.fromkeys(range_.task.test_ids, "passed")
    expected["tests/test_order.py::test_median_of_even"] = "failed"
    del expected["tests/test_order.py::test_largest"]
    assert found == expected
    assert run.result.exit_code == 1
    assert run.note == ""


@pytest.mark.asyncio(loop_scope="module")
async def test_ids_are_relative_to_the_projects_folder(range_):
    ready = range_.ready
    suite = replace(
        ready.suite, select=("test_arith.py",), import_paths=("../src",), config=("../nowhere.ini",)
    )
    environment = replace(range_.environment, subdir="tests")
    async with await range_.setting.start(ready) as box:
        run = await run_suite(box, environment, suite, ready.runner)
        assert {record.id for record in run.records} == {
            f"test_arith.py::test_{name}"
            for name in ("total", "total_of_nothing", "mean", "mean_of_nothing")
        }
        ids = ["test_arith.py::test_mean"]
        (record,) = (await run_suite(box, environment, suite, ready.runner, ids)).records
    assert record.id == ids[0]
    assert record.outcome == "passed"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_suite_that_wants_too_much_memory_reports_nothing(range_):
    ready = range_.ready
    async with await range_.setting.start(ready) as box:
        await box.shell("echo 'x = bytearray(4 << 30)' > tests/conftest.py")
        run = await run_suite(box, range_.environment, ready.suite, ready.runner)
    assert run.records == ()
    assert run.result.exit_code != 0


def test_a_suites_paths_are_relative_to_the_projects_folder(tiny):
    environment = replace(tiny, subdir="proj")
    tree = {"proj/lib/pkg/__init__.py": File(b""), "proj/tests/test_a.py": File(b"")}
    suite = replace(
        tiny.suites[0], select=("tests", "more/test_x.py::test_y"), import_paths=("lib",)
    )
    scene = Scene.of(environment, suite, tree, tree)
    assert scene.select == ("proj/tests", "proj/more/test_x.py")
    assert scene.config == {"proj/pyproject.toml", "proj/tests/conftest.py"}
    assert scene.import_paths == {"proj/lib", "proj/src"}
    assert scene.roots == {"proj/lib", "proj/src", "proj/tests"}
    assert scene.package_names == {"pkg"}


def test_a_test_package_is_imported_from_above_it(tiny):
    tree = {"pkg/__init__.py": File(b""), "pkg/tests/__init__.py": File(b"")}
    tree |= {"pkg/tests/test_a.py": File(b""), "setup.py": File(b"")}
    suite = replace(tiny.suites[0], import_paths=("./",))
    scene = Scene.of(tiny, suite, tree, tree)
    assert scene.roots == {"", "src"}
    assert scene.package_names == {"pkg"}
