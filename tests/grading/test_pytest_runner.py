"""The pytest runner and its payload, run as a plain process: real pytest, real reports."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import NotFoundError
from codegym.grading.runners import runner
from codegym.grading.runners.pytest import SCRIPT, PytestRunner
from codegym.types import Manner, Runner, TestOutcome

PYPROJECT = '[tool.pytest.ini_options]\naddopts = "-q"\n'


def run(
    folder: Path, files: dict[str, str], ids=(), manner: Manner | None = None, **settings
) -> list[TestOutcome]:
    """Write files and run the payload on them, as a grading sandbox would."""
    root = folder / "workspace"
    for name, text in {"pyproject.toml": PYPROJECT, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    script = folder / "run_suite.py"
    tool = PytestRunner()
    script.write_bytes(tool.payload()[SCRIPT].replace(b"LIMIT_SEC = 5.0", b"LIMIT_SEC = 0.3"))
    settings = {
        "select": ["tests"],
        "config": ["pyproject.toml"],
        "import_paths": ["src"],
    } | settings
    with (folder / "report").open("w+b") as report:
        channel = report.fileno()
        command = tool.command(ids, channel, python=sys.executable, root=str(root), **settings)
        command = tool.varied(command, manner) if manner else command
        argv = [str(script) if part == SCRIPT else part for part in command.argv]
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **command.env}
        given, kept = command.stdin, [channel]
        subprocess.run(argv, cwd=root, check=False, env=env, input=given, pass_fds=kept)
        report.seek(0)
        return tool.parse(report.read())


def outcomes(records) -> dict[str, str]:
    found = {record.id: record.outcome for record in records}
    assert len(found) == len(records), "doubled ids"
    return found


def test_registry_finds_it_and_suggests_it():
    assert isinstance(runner("pytest"), PytestRunner)
    typed: Runner = runner("codegym.grading.runners.pytest:PytestRunner")
    assert typed.assurance == "report_only"
    with pytest.raises(NotFoundError, match="did you mean 'pytest'"):
        runner("pytset")


def test_every_kind_of_outcome(tmp_path):
    records = run(
        tmp_path,
        {
            "tests/test_all.py": """
            import unittest, pytest
            def test_pass(): pass
            def test_fail(): assert 1 == 2, "the reason"
            def test_skip(): pytest.skip("not here")
            @pytest.mark.xfail(reason="known")
            def test_xfail(): assert False
            @pytest.mark.xfail(strict=False)
            def test_xpass(): pass
            @pytest.mark.xfail(strict=True)
            def test_strict_xpass(): pass
            @pytest.fixture
            def broken(): raise OSError("set-up broke")
            @pytest.fixture
            def leaky():
                yield
                raise OSError("tear-down broke")
            def test_setup(broken): pass
            def test_teardown(leaky): pass
            def test_worst(leaky): assert False
            class TestIt:
                def test_method(self): pass
            class TestOld(unittest.TestCase):
                def test_unit(self): self.assertEqual(1, 1)
                def test_sub(self):
                    for i in range(3):
                        with self.subTest(i=i): self.assertNotEqual(i, 1)
            """
        },
    )
    name = "tests/test_all.py::test_"
    assert outcomes(records) == {
        f"{name}pass": "passed",
        f"{name}fail": "failed",
        f"{name}skip": "skipped",
        f"{name}xfail": "skipped",
        f"{name}xpass": "passed",
        f"{name}strict_xpass": "failed",
        f"{name}setup": "error",
        f"{name}teardown": "error",
        f"{name}worst": "error",
        "tests/test_all.py::TestIt::test_method": "passed",
        "tests/test_all.py::TestOld::test_unit": "passed",
        "tests/test_all.py::TestOld::test_sub": "failed",
    }
    messages = {record.id: record.message for record in records}
    assert "the reason" in messages[f"{name}fail"]
    assert messages[f"{name}skip"] == "Skipped: not here"
    assert messages[f"{name}xfail"] == "expected to fail: known"
    assert messages[f"{name}pass"] == ""


ODD = """
import pytest
@pytest.mark.parametrize(
    "x", ["a b", "a[b]", "é", "漢字", "a::b", "", "-x", "@f", "new\\nline", "a/b", "' \\""]
)
def test_odd(x): pass
@pytest.mark.parametrize("x", [1], ids=["tests/test_other.py::test_z"])
def test_path(x): pass
class TestC:
    class TestInner:
        @pytest.mark.parametrize("x", ["[", "]"])
        def test_deep(self, x): pass
"""


def test_any_discovered_id_can_be_run_alone(tmp_path):
    everything = outcomes(run(tmp_path, {"tests/test_odd.py": ODD}))
    assert len(everything) == 14
    some = sorted(everything)[::3]
    assert outcomes(run(tmp_path, {}, ids=some)) == dict.fromkeys(some, "passed")


HASTE = """
    import time
    def work():
        until = time.process_time() + 1.6
        while time.process_time() < until: pass
    def test_first(): work()
    def test_fails(): assert False
    def test_hangs():
        while True: pass
    def test_last(): pass
    """


def test_after_a_failure_that_decides_the_others_have_little_time(tmp_path):
    files = {"tests/test_a.py": HASTE}
    found = run(tmp_path, files, manner=Manner(all_or_nothing=True))
    passed, failed = "passed", "failed"
    assert [one.outcome for one in found] == [passed, failed, failed, passed]
    assert "it took more than 0.3 s" in found[2].message


@pytest.mark.parametrize("raw", ["failed", "passed"])
def test_a_failure_that_the_project_takes_back_decides_nothing(tmp_path, raw):
    hooks = f"""
    def pytest_runtest_logreport(report):
        if report.failed: report.outcome = {raw!r}
    """
    text = HASTE.replace("while True: pass", "work()")
    files = {"tests/test_a.py": text, "tests/conftest.py": hooks}
    outcomes = [one.outcome for one in run(tmp_path, files, manner=Manner(all_or_nothing=True))]
    assert outcomes == ["passed", raw, raw, "passed"]


def test_only_the_ids_asked_for_run_and_a_missing_one_stops_nothing(tmp_path):
    records = run(
        tmp_path,
        {"tests/test_a.py": "def test_1(): pass\ndef test_2(): pass\n"},
        ids=["tests/test_a.py::test_2", "tests/test_a.py::test_gone", "tests/test_gone.py::test_x"],
    )
    assert outcomes(records) == {"tests/test_a.py::test_2": "passed"}


def test_nothing_runs_where_no_file_is_left(tmp_path):
    files = {"tests/test_a.py": "def test_1(): pass\n"}
    assert run(tmp_path, files, ids=["tests/test_gone.py::test_x"]) == []


def test_thousands_of_ids_are_no_problem(tmp_path):
    text = "import pytest\n@pytest.mark.parametrize('x', range(3000), ids=lambda x: f'{x:0200}')\n"
    found = outcomes(run(tmp_path, {"tests/test_many.py": text + "def test_n(x): pass\n"}))
    assert len(found) == 3000
    assert sum(map(len, found)) > 600_000  # past any pipe's and any command line's room
    assert outcomes(run(tmp_path, {}, ids=list(found))) == found


def test_a_file_that_cannot_be_imported_is_reported_and_the_others_run(tmp_path):
    records = run(
        tmp_path,
        {
            "tests/test_bad.py": "import nowhere_to_be_found\ndef test_1(): pass\n",
            "tests/test_off.py": "import pytest\npytest.skip('off', allow_module_level=True)\n",
            "tests/test_good.py": "def test_1(): pass\n",
        },
    )
    found = outcomes(records)
    assert found["tests/test_bad.py"] == "error"
    assert found["tests/test_off.py"] == "skipped"
    assert found["tests/test_good.py::test_1"] == "passed"
    assert len(found) == 3
    assert any("nowhere_to_be_found" in record.message for record in records)


def test_discovery_honours_select_and_deselect(tmp_path):
    text = "def test_1(): pass\ndef test_2(): pass\n"
    files = {f"{name}.py": text for name in ("tests/test_a", "tests/test_b", "more/test_c")}
    records = run(
        tmp_path, files, select=["tests"], deselect=["tests/test_a.py", "tests/test_b.py::test_1"]
    )
    assert outcomes(records) == {"tests/test_b.py::test_2": "passed"}


def test_what_is_deselected_takes_no_other_with_it(tmp_path):
    text = """
        import pytest
        def test_a(): pass
        def test_a_more(): pass
        @pytest.mark.parametrize("x", [1, 11, "a::b", "c/d"])
        def test_x(x): pass
        @pytest.mark.parametrize("x", [1])
        def test_y(x): pass
        class TestIt:
            def test_1(self): pass
        class TestItToo:
            def test_1(self): pass
    """
    name = "sub/test_a.py::test_"
    gone = [f"{name}a", f"{name}x[1]", f"{name}x[a::b]", f"{name}y", "sub/test_a.py::TestIt", "su"]
    records = run(tmp_path, {"sub/test_a.py": text}, select=["sub"], deselect=gone)
    left = {f"{name}a_more", f"{name}x[11]", f"{name}x[c/d]", "sub/test_a.py::TestItToo::test_1"}
    assert set(outcomes(records)) == left


def test_the_first_file_that_configures_pytest_is_used(tmp_path):
    files = {
        "pyproject.toml": "[project]\nname = 'x'\n",
        "tox.ini": "[pytest]\npython_functions = check_*\n",
        "tests/test_a.py": "def test_1(): pass\ndef check_2(): pass\n",
    }
    records = run(tmp_path, files, config=["pyproject.toml", "conftest.py", "tox.ini"])
    assert outcomes(records) == {"tests/test_a.py::check_2": "passed"}
    assert outcomes(run(tmp_path, {}, config=[])) == {"tests/test_a.py::test_1": "passed"}


def test_import_paths_reach_tests_and_the_processes_they_start(tmp_path):
    files = {
        "src/thing.py": "VALUE = 7\n",
        "tests/test_a.py": """
        import subprocess, sys
        import thing
        def test_here(): assert thing.VALUE == 7
        def test_there(): subprocess.run([sys.executable, "-c", "import thing"], check=True)
        """,
    }
    assert set(outcomes(run(tmp_path, files)).values()) == {"passed"}


def test_the_workspace_cannot_shadow_pytest(tmp_path):
    evil = "import os\nos._exit(0)\n"
    shadows = ("pytest", "_pytest/__init__", "json", "pluggy", "sitecustomize", "report")
    files = {f"{folder}{name}.py": evil for folder in ("", "src/") for name in shadows}
    records = run(tmp_path, {**files, "tests/test_a.py": "def test_1(): assert 0\n"})
    assert outcomes(records) == {"tests/test_a.py::test_1": "failed"}


def test_tests_that_patch_what_the_reporter_uses_do_not_disturb_it(tmp_path):
    text = """
    import json, os, time
    import pytest
    @pytest.fixture(autouse=True, scope="module")
    def patched():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", None)
            patch.setattr(json, "dumps", None)
            patch.setattr(os, "getpid", lambda: 1)
            yield
    def test_1(): pass
    def test_2(): assert False
    """
    name = "tests/test_a.py::test_"
    assert outcomes(run(tmp_path, {"tests/test_a.py": text})) == {
        f"{name}1": "passed",
        f"{name}2": "failed",
    }


def test_a_test_that_forks_is_reported_once(tmp_path):
    text = """
    import os
    def test_fork():
        child = os.fork()
        if child:
            os.waitpid(child, 0)
    def test_after(): pass
    """
    assert set(outcomes(run(tmp_path, {"tests/test_a.py": text})).values()) == {"passed"}


@pytest.mark.parametrize("leave", ["os._exit(0)", "sys.exit(0)", "pytest.exit('done', 0)"])
def test_leaving_at_import_reports_no_test(tmp_path, leave):
    text = f"import os, sys, pytest\n{leave}\ndef test_1(): pass\n"
    assert "passed" not in outcomes(run(tmp_path, {"tests/test_a.py": text})).values()


@pytest.mark.parametrize("leave", ["os._exit(0)", "pytest.exit('done', 0)"])
def test_leaving_in_a_test_reports_none_that_follows(tmp_path, leave):
    text = f"import os, pytest\ndef test_1(): pass\ndef test_2(): {leave}\ndef test_3(): pass\n"
    found = outcomes(run(tmp_path, {"tests/test_a.py": text}))
    assert [name for name, outcome in found.items() if outcome == "passed"] == [
        "tests/test_a.py::test_1"
    ]


def test_exit_handlers_and_threads_that_never_end_do_not_hold_it_up(tmp_path):
    text = """
    import atexit, threading, time
    atexit.register(time.sleep, 600)
    threading.Thread(target=time.sleep, args=(600,)).start()
    def test_1(): pass
    """
    assert outcomes(run(tmp_path, {"tests/test_a.py": text})) == {
        "tests/test_a.py::test_1": "passed"
    }


def test_configuration_that_stops_early_or_renames_does_not_apply(tmp_path):
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-x --tb=no"\n',
        "tests/test_a.py": "def test_1(): assert 0, 'why'\ndef test_2(): pass\n",
    }
    records = run(tmp_path, files)
    assert [record.outcome for record in records] == ["failed", "passed"]
    assert "why" in records[0].message


GOOD = {"id": "t.py::x", "outcome": "passed", "seconds": 0.5, "message": "m"}


@pytest.mark.parametrize(
    "change",
    [
        {"id": 5},
        {"id": "x" * 5000},
        {"id": "\ud800"},
        {"outcome": "missing"},
        {"outcome": ["passed"]},
        {"outcome": None},
    ],
)
def test_a_record_that_makes_no_sense_is_left_out(change):
    assert PytestRunner().parse(json.dumps(GOOD | change).encode()) == []


def test_a_record_is_bounded():
    line = GOOD | {"message": "x" * 100_000, "seconds": "1"}
    (record,) = PytestRunner().parse(json.dumps(line).encode())
    assert len(record.message) == 4000
    assert record.seconds == 0.0


@given(st.binary(max_size=300))
def test_parse_never_raises_on_bytes(report):
    PytestRunner().parse(report)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(GOOD, json_values)))
def test_parse_never_raises_on_json(fields):
    for record in PytestRunner().parse(json.dumps(fields).encode()):
        assert record.outcome in {"passed", "failed", "error", "skipped"}
        record.message.encode()


def test_parse_keeps_order_and_doubles():
    lines = [GOOD, GOOD | {"id": "b"}, GOOD]
    report = b"\n".join(json.dumps(line).encode() for line in lines) + b'\n{"id": "cut'
    assert [record.id for record in PytestRunner().parse(report)] == ["t.py::x", "b", "t.py::x"]
