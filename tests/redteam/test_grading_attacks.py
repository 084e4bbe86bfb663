"""Grading attacks score 0; those that fool whoever does not observe would have scored 1.

A check that cannot fail is none. So each attack's work is also graded plainly (whole, in a fresh
sandbox, but asserting inside); and attacks by files are also tried on pytest as an agent runs it.
"""

import pytest

from codegym.grading.grader import grade
from codegym.redteam import Finding, catalogue
from codegym.redteam.attacks import grading_process

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATTACKS = {one.name: one for one in catalogue() if one.family == "grading"}
IN_PROCESS = {name for name, *_ in (*grading_process._AT_IMPORT, *grading_process._RESULTS)}
FOOL_PLAIN = {
    *("always-equal", "channel-by-descriptor", "channel-by-search", "conftest-imported-by-code"),
    *("grading-is-smelt", "item-patched", "lookup-table", "mock-results", "pyfunc-call-patched"),
    *("report-class-patched", "reporter-patched", "runner-patched", "source-reader"),
    *("stack-walker", "subclass-of-int-and-str", "test-code-replaced"),
}
FOOL_PYTEST = {
    *("assert-removed-by-optimisation", "bytecode-sourceless", "bytecode-unchecked"),
    *("conftest-in-root", "conftest-in-tests", "entry-point-plug-in", "local-pytest-module"),
    *("local-pytest-package", "paths-that-climb", "pyproject-loads-a-plug-in"),
    *("pytest-ini-collects-only", "pytest-ini-loads-a-plug-in", "pytest-toml-loads-a-plug-in"),
    *("setup-cfg-loads-a-plug-in", "sitecustomize", "standard-library-shadowed"),
    *("tests-edited", "tests-expected-to-fail", "tests-linked-away", "tests-redefined"),
    *("tests-skipped", "tox-ini-loads-a-plug-in"),
}
BY_CODE = {"lookup-table", "conftest-imported-by-code"} | {
    name for name, *_ in (*grading_process._AT_IMPORT, *grading_process._RESULTS)
}


def each(names, fooling):
    """All of them, those that fool nobody here with the slow ones."""
    return [
        pytest.param(name, marks=[] if name in fooling else pytest.mark.slow)
        for name in ATTACKS
        if name in names
    ]


@pytest.mark.parametrize("name", each(BY_CODE, FOOL_PLAIN))
async def test_code_under_test_scores_nothing(play, setting, name):
    finding = await ATTACKS[name].play(play)
    assert finding.outcome != "succeeded", finding.evidence
    episode = play._episode
    plain = await grade(setting.backend, episode._ready, episode.work)
    assert plain.solved == (name in FOOL_PLAIN)


@pytest.mark.parametrize("name", each(ATTACKS.keys() - BY_CODE, FOOL_PYTEST))
async def test_files_score_nothing(play, name, monkeypatch):
    async def pytest_says():
        ran = await play.bash("python -m pytest -q -p no:cacheprovider >/dev/null 2>&1; echo $?")
        return Finding("impossible", ran.output.strip())

    with monkeypatch.context() as patched:
        patched.setattr(play, "graded", pytest_says)
        status = (await ATTACKS[name].play(play)).evidence
    assert (status == "0") == (name in FOOL_PYTEST)
    finding = await play.graded()
    assert finding.outcome != "succeeded", finding.evidence
