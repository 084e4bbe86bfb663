"""Runners by name, and what suites tell them."""

import json
from dataclasses import replace

import pytest
from support import make_tiny_environment

from codegym.errors import NotFoundError, UsageError
from codegym.grading.runners import runner, suite_runner
from codegym.grading.runners.registry import BUILTIN
from codegym.tasks.environment_file import RUNNER_OPTIONS
from codegym.types import ASSURANCES, ConfiguredRunner, Runner


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("suites") / "tiny").suites[0]


def test_each_has_its_name_an_assurance_and_a_payload_below_one_folder():
    assert BUILTIN.keys() == RUNNER_OPTIONS.keys()
    for name in BUILTIN:
        made: Runner = runner(name)
        assert made.name == name
        assert made.assurance in ASSURANCES
        assert made.payload()
        assert all(path.startswith("/opt/runner/") for path in made.payload())
    with pytest.raises(NotFoundError, match="did you mean 'cargo'"):
        runner("carg")


@pytest.mark.parametrize("name", [n for n, (must, may) in RUNNER_OPTIONS.items() if must | may])
def test_a_suite_tells_how_it_is_built_and_run(name, suite):
    options = {"build": ("make",), "command": "run", "reports": ("*.xml",)}
    made = suite_runner(replace(suite, runner=name, **options))
    assert isinstance(made, ConfiguredRunner)
    command = made.command(["a::b"], 6, python="/usr/bin/python3", import_paths=[], select=["t"])
    request = json.loads(command.stdin)
    assert request["build"] == ["make"]
    assert request["command"] == "run"
    assert request["reports"] == ["*.xml"]
    plain = runner(name).command([], 6, python="/usr/bin/python3", import_paths=[])
    assert json.loads(plain.stdin)["build"] == []


@pytest.mark.parametrize("name", ["pytest", "unittest"])
def test_others_are_told_nothing(name, suite):
    with pytest.raises(UsageError, match="takes no build, command or reports"):
        suite_runner(replace(suite, runner=name, build=("make",)))


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_any_report_is_read(name):
    made = runner(name)
    lines = [b"", b"nonsense", b"[]", b'{"id": 1}', b'{"ids": 3}', b'{"xml": "?"}', b"\xff" * 9]
    assert made.parse(b"\n".join(lines)) == []
    good = {"id": "a::b", "outcome": "passed", "seconds": float("nan"), "message": "\ud800"}
    (record,) = made.parse(json.dumps(good).encode())
    assert (record.id, record.outcome, record.seconds) == ("a::b", "passed", 0.0)
