"""Observation inside, as a real process: keys, what is seen when, and what cannot be."""

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from seeing import see

from codegym.grading.runners import runner
from codegym.grading.runners.pytest import SCRIPT, PytestRunner
from codegym.types import Evidence, ObservingRunner

NAME = "tests/test_a.py"
IMPORT = "import _cg_observer as __cg__\nimport pytest\n"


@dataclass
class Run:
    outcomes: Mapping[str, str]
    evidence: Evidence
    report: bytes

    def seen(self, test="test_it", path=NAME):
        """Site, role and value of what was seen in one test."""
        found = self.evidence.observations.get(f"{path}::{test}", ())
        return [(one.site, one.role, one.value) for one in found]


def observe(
    folder: Path, text: str, keys=(), limited=(), collect=False, limit_sec=0.5, **files
) -> Run:
    """Write a test file and run the payload on it, observing."""
    root, tool = folder / "workspace", PytestRunner()
    for name, content in {NAME: IMPORT + textwrap.dedent(text), **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content))
    for name, script in {**tool.payload(), **tool.observer()}.items():
        (folder / Path(name).name).write_bytes(script)
    with (folder / "report").open("w+b") as report:
        channel = report.fileno()
        place = {"python": sys.executable, "root": str(root)}
        command = tool.command([], channel, import_paths=["."], select=["tests"], **place)
        command = tool.observing(
            command, keys, limited=limited, limit_sec=limit_sec, collect=collect
        )
        argv = [str(folder / "run_suite.py") if part == SCRIPT else part for part in command.argv]
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **command.env}
        subprocess.run(
            argv, cwd=root, check=False, env=env, input=command.stdin, pass_fds=[channel]
        )
        report.seek(0)
        data = report.read()
    records = tool.parse(data)
    outcomes = {record.id: record.outcome for record in records}
    assert len(outcomes) == len(records), "doubled"
    return Run(outcomes, tool.evidence(data), data)


def test_it_is_an_observing_runner():
    one = runner("pytest")
    assert isinstance(one, ObservingRunner)
    assert not set(one.observer()) & set(one.payload())
    plain = one.command(["t.py::a[secret]"], 6, python="/p", import_paths=[])
    asked = one.observing(plain, ["t.py::a{x=0}"])
    assert b"secret" not in asked.stdin
    assert json.loads(asked.stdin)["keys"] == ["t.py::a{x=0}"]
    assert one.evidence(b"junk\n\xff") == Evidence()


def test_cases_of_copies_are_made_or_are_none(tmp_path):
    text = """
    def test_it():
        some = [(1, 2), pytest.param(3, 4, id="x")]
        __cg__.saw(1, __cg__.rows(2, lambda: some) == some)
        __cg__.saw(2, __cg__.rows(2, lambda: [*some, (5,)]))
        __cg__.saw(3, __cg__.rows(None, lambda: range(2)))
        __cg__.saw(4, __cg__.rows(1, lambda: 1 / 0))
        __cg__.saw(5, __cg__.rows(1, lambda: [6]))
    """
    run = observe(tmp_path, text)
    assert [value for *_, value in run.seen()] == [see(one) for one in (True, [], [0, 1], [], [])]


def test_what_is_seen_is_reported_in_order_and_given_back(tmp_path):
    text = """
    def test_it():
        assert __cg__.saw(3, [1]) == [1]
        assert __cg__.meant(3, "x") == "x"
        for n in range(2):
            __cg__.saw(4, n)
    def test_not():
        __cg__.saw(5, None)
        assert False
    def test_nothing(): pass
    """
    run = observe(tmp_path, text)
    assert run.seen() == [
        (3, "a", see([1])),
        (3, "e", see("x")),
        (4, "a", see(0)),
        (4, "a", see(1)),
    ]
    assert run.seen("test_not") == [(5, "a", see(None))]
    assert list(run.evidence.observations) == [f"{NAME}::test_it", f"{NAME}::test_not"]
    assert run.evidence.nodes == {}
    assert run.outcomes[f"{NAME}::test_not"] == "failed"


def test_keys_hold_no_value_of_a_parameter(tmp_path):
    text = """
    import unittest
    @pytest.fixture(params=["hidden-a", "hidden-b"])
    def made(request): return request.param
    @pytest.mark.parametrize("b", ["hidden-x", "hidden-y"])
    @pytest.mark.parametrize("a,c", [("hidden[0]", 1), ("hidden::1", 2)], ids=["hidden]", "hid"])
    def test_it(a, b, c): __cg__.saw(1, (a, b))
    class TestClass:
        def test_made(self, made): __cg__.saw(1, made)
        def test_plain(self): pass
    class TestUnit(unittest.TestCase):
        def test_u(self): __cg__.saw(1, self.id)
    """
    run = observe(tmp_path, text, collect=True)
    keys = {key for key in run.outcomes if re.fullmatch(rf"{NAME}::test_it{{a=.,b=.,c=.}}", key)}
    assert len(keys) == 4
    one = max(keys)
    keys |= {f"{NAME}::TestClass::test_made{{made={n}}}" for n in (0, 1)}
    keys |= {f"{NAME}::TestClass::test_plain", f"{NAME}::TestUnit::test_u"}
    assert run.outcomes == dict.fromkeys(keys, "passed")
    assert run.evidence.nodes.keys() == keys
    assert run.evidence.nodes[f"{NAME}::TestClass::test_made{{made=1}}"].endswith("[hidden-b]")
    assert run.evidence.observations[one][0].value == see(("hidden::1", "hidden-y"))
    again = observe(tmp_path, text, keys=[one])
    assert again.outcomes == {one: "passed"}
    assert b"hid]" not in again.report
    assert b"node" not in again.report


def test_a_file_that_breaks_is_reported(tmp_path):
    run = observe(tmp_path, "raise ValueError", keys=[f"{NAME}::test_it"])
    assert run.outcomes == {NAME: "error"}


def test_nothing_is_said_outside_a_test_nor_by_a_child(tmp_path):
    text = """
    import os
    __cg__.saw(1, "import")
    def test_it():
        __cg__.saw(2, "before")
        child = os.fork()
        __cg__.saw(3, child == 0)
        if child:
            os.waitpid(child, 0)
    def test_exits():
        __cg__.saw(4, "x")
        if not os.fork():
            os._exit(0)
        os.wait()
    @pytest.fixture(scope="session", autouse=True)
    def after():
        yield
        __cg__.saw(5, "teardown of the last is in its test")
    """
    run = observe(tmp_path, text)
    assert run.seen() == [(2, "a", see("before")), (3, "a", see(False))]
    assert [site for site, *_ in run.seen("test_exits")] == [4, 5]
    assert b"import" not in run.report


def test_a_test_that_ends_the_process_says_nothing(tmp_path):
    run = observe(tmp_path, "import os\ndef test_it():\n    __cg__.saw(1, 1)\n    os._exit(0)\n")
    assert run.report == b""


def test_raises(tmp_path):
    text = """
    class Odd(KeyError):
        def __str__(self): return "odd 42"
    class Worse(Exception):
        def __str__(self): raise SystemExit
    def test_it():
        with __cg__.raises(1, pytest.raises(KeyError, match="odd"), KeyError, "odd") as found:
            raise Odd("x")
        assert found.value.args == ("x",)
    def test_other():
        with __cg__.raises(1, pytest.raises(KeyError), KeyError):
            raise ValueError("v")
    def test_raised():
        with __cg__.raised(2) as found:
            raise Odd("x")
        assert found.type is Odd and found.match("42") and found.exception is found.value
        with __cg__.raised(3):
            pass
        with __cg__.raised(4):
            raise SystemExit(3)
        with __cg__.raised(5):
            raise Worse
    def test_skip():
        with __cg__.raised(6):
            pytest.skip("no")
    """
    run = observe(tmp_path, text)
    (_, _, error), (_, role, meant) = run.seen()
    assert (error.kind, error.parts[0]) == ("error", see("odd 42"))
    assert (role, meant) == ("e", see((KeyError, "odd")))
    assert run.seen("test_other")[0][2] == see(ValueError("v"))
    kinds = [(site, value.kind) for site, _, value in run.seen("test_raised")]
    assert kinds == [(2, "error"), (3, "none"), (4, "error"), (5, "error")]
    assert run.seen("test_raised")[3][2].parts[0] == see(None)
    assert run.seen("test_skip") == []
    assert {name.split("_")[-1]: o for name, o in run.outcomes.items()} == {
        "it": "passed",
        "other": "failed",
        "raised": "passed",
        "skip": "skipped",
    }


def test_raises_of_unittest(tmp_path):
    text = """
    import unittest
    class TestU(unittest.TestCase):
        def test_it(self):
            with __cg__.raises(1, self.assertRaises(KeyError), KeyError) as found:
                raise KeyError("x")
            assert found.exception.args == ("x",)
    """
    run = observe(tmp_path, text)
    assert list(run.outcomes.values()) == ["passed"]
    assert [role for _, role, _ in run.seen("TestU::test_it")] == ["a", "e"]


def test_a_limited_test_is_stopped_even_if_it_catches_all(tmp_path):
    text = """
    import time
    def test_it():
        while True:
            try:
                time.sleep(60)
            except BaseException:
                break
    def test_slow(): time.sleep(60)
    def test_quick(): __cg__.saw(1, 1)
    def test_free(): time.sleep(0.01)
    """
    keys = [f"{NAME}::test_{name}" for name in ("it", "slow", "quick", "free")]
    run = observe(tmp_path, text, keys=keys, limited=keys[:3], limit_sec=0.2)
    assert list(run.outcomes.values()) == ["failed", "failed", "passed", "passed"]


def test_a_limited_test_that_was_given_no_time_is_waited_for(tmp_path):
    text = """
    import time
    def test_waits(): time.sleep(0.9)
    def test_works():
        while True: pass
    """
    keys = [f"{NAME}::test_{name}" for name in ("waits", "works")]
    run = observe(tmp_path, text, keys=keys, limited=keys)
    assert list(run.outcomes.values()) == ["passed", "failed"]


def test_what_one_test_says_is_bounded(tmp_path):
    text = """
    def test_it():
        for n in range(40):
            __cg__.saw(n, "x" * 60_000)
    def test_after(): __cg__.saw(1, 1)
    """
    run = observe(tmp_path, text)
    assert len(run.report) < 1_200_000
    assert [site for site, *_ in run.seen()] == list(range(17))
    assert run.seen("test_after") == [(1, "a", see(1))]


def test_the_workspace_shadows_nothing_and_finds_only_the_observer(tmp_path):
    evil = "raise SystemExit\n"
    names = ("observer", "canonical", "library", "reading", "_cg_observer", "_cg_canonical")
    text = """
    import importlib.util, sys
    def test_it():
        __cg__.saw(1, [name for name in sys.modules if name.startswith("_cg")])
        __cg__.saw(2, importlib.util.find_spec("run_suite") is None)
        __cg__.saw(3, sorted(name for name in dir(__cg__) if not name.startswith("__")))
    """
    run = observe(tmp_path, text, **{f"{name}.py": evil for name in names})
    assert [value for *_, value in run.seen()] == [
        see(["_cg_observer"]),
        see(True),
        see(["meant", "onward", "raised", "raises", "rows", "saw"]),
    ]


def test_tests_that_patch_what_the_observer_uses_do_not_disturb_it(tmp_path):
    text = """
    import builtins, hashlib, json, os
    @pytest.fixture(autouse=True)
    def patched(monkeypatch):
        for home, name in [(os, "write"), (json, "dumps"), (os, "getpid"), (hashlib, "sha256"),
                           (builtins, "open"), (builtins, "sorted"), (builtins, "format")]:
            monkeypatch.setattr(home, name, None)
    def test_it():
        __cg__.saw(1, {2, 1})
        __cg__.saw(2, 1 << 100)
        __cg__.saw(3, "x" * 100_000)
    """
    run = observe(tmp_path, text)
    assert [value for *_, value in run.seen()] == [see({1, 2}), see(1 << 100), see("x" * 100_000)]


def test_values_that_fight_back_end_no_test(tmp_path):
    text = """
    class Evil:
        def __getattribute__(self, name): raise SystemExit
        __eq__ = __hash__ = __repr__ = __bool__ = __len__ = None
    def test_it():
        value = []
        value.append(value)
        for site, thing in enumerate([Evil(), value, [Evil()] * 3, type("T", (int,), {})(3)]):
            assert __cg__.saw(site, thing) is thing
    """
    run = observe(tmp_path, text)
    assert run.outcomes == {f"{NAME}::test_it": "passed"}
    assert [value.kind for *_, value in run.seen()] == ["opaque", "list", "list", "sub"]


@pytest.mark.parametrize("junk", ["{", '{"k": 5}', "\\x00" * 9])
def test_lines_of_others_are_left_out(tmp_path, junk):
    text = f"""
    import os
    def test_it():
        __cg__.saw(1, 1)
        for name in os.listdir("/proc/self/fd"):
            try:
                os.write(int(name), {junk!r}.encode() + b"\\n")
            except OSError:
                pass
    """
    assert observe(tmp_path, text).seen() == [(1, "a", see(1))]
