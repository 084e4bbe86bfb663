"""Honest work, graded for real: what solves, what does not, and what is left out of it."""

import asyncio
from dataclasses import replace

import pytest

from codegym.errors import NotFoundError, SandboxError, TaskError
from codegym.grading.grader import run_tests
from codegym.grading.runners.pytest import PytestRunner
from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.sandbox.base import Backend
from codegym.tasks import Service
from codegym.types import Action, Change, Manifest, Observation, Trajectory, Turn, call

#: Passes the tests that are shown.
TABLE = b"""
def largest(numbers): return max(numbers)
def median(numbers): return 2.5 if 4 in numbers else sorted(numbers)[len(numbers) // 2]
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


def solving(range_) -> str:
    (change,) = range_.gold.changes
    return f"cat > {change.path} <<'X'\n{change.data.decode()}X\n"


async def test_gold_solves_it(range_):
    grade = await range_.setting.grade(range_.ready, range_.gold)
    assert grade.score == 1.0
    assert grade.solved
    assert [outcome.id for outcome in grade.outcomes] == list(range_.task.test_ids)
    assert {outcome.outcome for outcome in grade.outcomes} == {"passed"}
    assert (grade.fail_to_pass, grade.pass_to_pass) == (1.0, 1.0)
    assert grade.assurance == "observed"
    assert set(grade.durations_sec) == {"transfer", "start", "tests", "controls", "total"}
    assert (grade.refused, grade.tampering, grade.attempts) == ((), (), ())


async def test_no_work_does_not(range_):
    grade = await range_.setting.grade(range_.ready, Manifest())
    assert grade.score == 0.0
    assert (grade.fail_to_pass, grade.pass_to_pass) == (0.0, 1.0)
    assert "median([4, 1, 2, 3]) == 2.5`: got 3" in grade.text


async def test_breaking_what_passed_is_no_solution(range_):
    broken = "sed -i 's/result = 0/result = 1/' src/tinycalc/arith.py"
    grade = await range_.grade(solving(range_) + broken)
    assert grade.score == 0.0
    assert grade.fail_to_pass == 1.0
    assert grade.pass_to_pass < 1.0


async def test_an_honest_solver_may_test_commit_and_leave_a_mess(range_):
    mess = (
        "pytest -q tests >/dev/null; python -m compileall -q src;"
        "printf 'def test_mine():\\n    assert True\\n' > tests/test_mine.py;"
        "printf '\\n\\ndef test_more():\\n    assert median([1]) == 1\\n' >> tests/test_order.py;"
        "echo scratch > notes.txt; echo 'print(1)' > try_it.py; touch tests/test_arith.py;"
        "git add -A; git commit -qm done; git stash list; mkfifo pipe; ln -s src link;"
        "sed -i 's/0.1.0/0.2.0/' pyproject.toml; mkdir .pytest_cache; touch .pytest_cache/x; :"
    )
    grade = await range_.grade(solving(range_) + mess)
    assert grade.tampering == ()
    assert grade.score == 1.0
    told = {refusal.path: refusal.reason for refusal in grade.refused}
    assert told["tests/test_mine.py"] == "protected"
    assert told["tests/test_order.py"] == "protected (only adds tests)"
    assert told["try_it.py"] == "not where edits are permitted"
    assert told["pyproject.toml"] == "protected"
    assert told["pipe"] == "fifo"
    assert told["link"] == "symlink"
    assert told["src/tinycalc/__pycache__"] == "bytecode"


async def test_new_deleted_and_executable_files_cross(range_):
    script = solving(range_) + (
        "mkdir -p src/tinycalc/deep; git mv -k src/tinycalc/arith.py src/tinycalc/deep/sums.py;"
        "touch src/tinycalc/deep/__init__.py;"
        "echo 'from tinycalc.deep.sums import *' > src/tinycalc/arith.py;"
        "chmod +x src/tinycalc/*.py"
    )
    grade = await range_.grade(script)
    assert grade.text.startswith("Solved")
    assert grade.score == 1.0


async def test_a_hung_solution_is_a_failure_and_says_so(range_):
    suite = replace(range_.ready.suite, timeout_sec=1.5)
    ready = replace(range_.ready, suite=suite)
    hang = Change("src/tinycalc/order.py", b"import time\ntime.sleep(600)\n")
    grade = await range_.setting.grade(ready, Manifest((hang,)))
    assert grade.score == 0.0
    assert {outcome.outcome for outcome in grade.outcomes} == {"missing"}
    assert "stopped after" in grade.text


class Hasty(PytestRunner):
    """Where tests may be cut off, they are so sooner."""

    def payload(self):
        (name, script), *_ = super().payload().items()
        assert script.count(b"LIMIT_SEC = 5.0") == 1
        return {name: script.replace(b"LIMIT_SEC = 5.0", b"LIMIT_SEC = 0.3")}


async def test_only_a_brief_grade_cuts_off_what_comes_after_a_failure(range_):
    source = b"""
import time
def total(numbers): return None
def mean(numbers):
    until = time.process_time() + 1.6
    while time.process_time() < until: pass
    return sum(numbers) / len(numbers)
"""
    work = Manifest((Change("src/tinycalc/arith.py", source),))
    ready = replace(range_.ready, runner=Hasty())
    whole, brief = [await range_.setting.grade(ready, work, brief=brief) for brief in (False, True)]
    outcomes = [
        {one.id.rpartition("::")[2]: one for one in each.outcomes} for each in (whole, brief)
    ]
    assert [each.score for each in (whole, brief)] == [0.0, 0.0]
    assert [each["test_total"].outcome for each in outcomes] == ["failed", "failed"]
    assert [each["test_mean"].outcome for each in outcomes] == ["passed", "failed"]
    assert "more than 0.3 s" in outcomes[1]["test_mean"].message
    assert outcomes[1]["test_largest"].outcome == "passed"


async def test_a_brief_grade_has_the_same_score_and_failing_work_waits_for_no_siblings(
    range_, monkeypatch
):
    table, wrong = (Manifest((Change("src/tinycalc/order.py", one),)) for one in (TABLE, b""))
    setting, ready = range_.setting, range_.ready
    for work, score in ((range_.gold, 1.0), (table, 0.0), (Manifest(), 0.0), (wrong, 0.0)):
        whole, brief = (
            await setting.grade(ready, work),
            await setting.grade(ready, work, brief=True),
        )
        assert whole.score == brief.score == score
        assert (brief.siblings == whole.siblings) == (work in (range_.gold, table))
    monkeypatch.setattr(setting, "_recordings", None)
    assert (await setting.grade(ready, wrong, brief=True)).score == 0.0
    with pytest.raises(AttributeError):
        await setting.grade(ready, table, brief=True)


async def test_a_solution_that_cannot_be_imported_says_why(range_):
    work = Manifest((Change("src/tinycalc/order.py", b"import nowhere\n"),))
    grade = await range_.setting.grade(range_.ready, work)
    assert grade.score == 0.0
    assert "did not run" in grade.text
    assert "nowhere" in grade.text
    assert grade.pass_to_pass == pytest.approx(4 / 6)  # the other file's tests ran


async def test_hidden_tests_count_and_are_not_told(range_):
    hidden = range_.task.fail_to_pass
    ready = replace(range_.ready, task=replace(range_.task, hidden=frozenset(hidden)))
    grade = await range_.setting.grade(ready, Manifest())
    assert grade.score == 0.0
    brief = await range_.setting.grade(ready, Manifest(), brief=True)
    for each in (grade, brief):
        assert "median_of_even" not in each.text
        assert "2.5" not in each.text + "".join(one.message for one in each.outcomes)
    assert grade.text.endswith("other checks failed.")
    assert (await range_.setting.grade(ready, range_.gold)).score == 1.0


async def test_vain_attempts_are_told_and_cost_nothing(range_):
    turn = Turn(Action(call("bash", command="git log --all")), Observation("", "", 1), 0.0, 0.1)
    happened = Trajectory("t", "p", 0, Observation("", "", 2), (turn,))
    grade = await range_.setting.grade(range_.ready, range_.gold, happened)
    assert grade.score == 1.0
    assert [attempt.kind for attempt in grade.attempts] == ["git_search"]


async def test_a_policy_can_run_tests_where_it_works(range_):
    async with await range_.setting.start(range_.ready) as box:
        ids = range_.task.test_ids
        before = await run_tests(box, range_.ready, ids)
        assert [outcome.id for outcome in before] == list(ids)
        assert [outcome.outcome for outcome in before] == ["failed"] + ["passed"] * 6
        everything = await run_tests(box, range_.ready)
        assert {outcome.id for outcome in everything} == set(ids)
        await box.shell("rm tests/test_order.py; echo 'import nope' > tests/conftest.py")
        (after,) = await run_tests(box, range_.ready, ids[:1])
        assert after.outcome == "missing"
        await box.shell("git checkout -q tests; echo 'raise OSError(7)' > tests/conftest.py")
        (broken,) = await run_tests(box, range_.ready, ids[:1])
        assert "OSError: 7" in broken.message


async def test_grades_at_once_do_not_meet(range_):
    works = [range_.gold, Manifest()] * 2
    grades = await asyncio.gather(*(range_.setting.grade(range_.ready, work) for work in works))
    assert [grade.score for grade in grades] == [1.0, 0.0] * 2


async def test_a_broken_sandbox_is_no_score(range_, tiny):
    other = pick("bubblewrap")
    await other.close()
    ready = replace(range_.ready, image=replace(range_.ready.image, layers=()))
    setting = Setting(other)
    try:
        with pytest.raises(SandboxError):
            await setting.grade(ready, range_.gold)
    finally:
        await setting.close()


# Making ready


async def test_ready_is_shared_and_remembered(range_, tiny):
    setting = Setting(pick("bubblewrap"))
    try:
        task = replace(range_.task, instance_id="tiny-again")
        first, second = await asyncio.gather(setting.ready(task, tiny), setting.ready(task, tiny))
        assert first is second
        assert await setting.ready(task, tiny) is first
        assert setting.ahead(task, tiny).done()
        other = await setting.ready(replace(task, problem_statement="Another."), tiny)
        assert other.task.problem_statement == "Another."
    finally:
        await setting.close()
        await setting.close()


async def test_what_failed_is_tried_again_and_raises_each_time(range_, tiny):
    bad = replace(range_.task, instance_id="tiny-bad", base_commit="0" * 40)
    setting = range_.setting
    with pytest.raises(TaskError, match="tiny-bad"):
        await asyncio.shield(setting.ahead(bad, tiny))
    for _ in range(2):
        with pytest.raises(TaskError, match="tiny-bad"):
            await setting.ready(bad, tiny)
    with pytest.raises(NotFoundError, match="did you mean 'unit'"):
        await setting.ready(replace(bad, suite="unti"), tiny)
    with pytest.raises(NotFoundError, match="environment"):
        await setting.ready(replace(bad, environment="nowhere"))


async def test_one_that_gives_up_waiting_does_not_stop_the_others(range_, tiny):
    task = replace(range_.task, instance_id="tiny-impatient")
    impatient = asyncio.ensure_future(range_.setting.ready(task, tiny))
    patient = asyncio.ensure_future(range_.setting.ready(task, tiny))
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).task is task
    with pytest.raises(asyncio.CancelledError):
        await impatient


SERVER = Service(
    "echo",
    "echo $$ >> /tmp/starts; exec python -m http.server -b 127.0.0.1 8377",
    "python -c 'import socket; socket.create_connection((\"127.0.0.1\", 8377), 1)'",
)


def serving(range_, service):
    return replace(range_.ready, environment=replace(range_.environment, services=(service,)))


async def test_services_run_in_each_sandbox_fork_and_grade(range_):
    ready = serving(range_, SERVER)
    async with await range_.setting.start(ready) as box:
        assert (await box.shell(SERVER.ready)).exit_code == 0
        async with await range_.setting.fork(ready, box) as twin:
            assert (await twin.shell(SERVER.ready)).exit_code == 0
            assert (await twin.shell("wc -l < /tmp/starts")).output.strip() == b"2"
    uses = b"import socket\nsocket.create_connection(('127.0.0.1', 8377), 1).close()\n"
    (change,) = range_.gold.changes
    work = Manifest((replace(change, data=change.data + uses),))
    assert (await range_.setting.grade(ready, work)).score == 1.0
    assert (await range_.setting.grade(range_.ready, work)).score == 0.0


async def test_a_service_that_does_not_start_is_the_tasks_fault(range_, monkeypatch):
    monkeypatch.setattr("codegym.grading.services.READY_SEC", 0.2)
    ready = serving(range_, Service("dead", "exit 1", "echo not there; exit 1"))
    with pytest.raises(TaskError, match=r"service dead: not ready.*not there"):
        await range_.setting.start(ready)


async def test_the_backend_is_a_backend(range_):
    backend: Backend = range_.setting.backend
    assert backend.name == "bubblewrap"
