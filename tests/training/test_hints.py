"""Hints say what went wrong by rules, and never what the answer is."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import PolicyError
from codegym.training.hints import MAX_CHARS, carries_answer, hints_of, judged
from codegym.types import (
    Action,
    EpisodeResult,
    Grade,
    Observation,
    Tampering,
    Task,
    Trajectory,
    Turn,
    call,
)

pytestmark = pytest.mark.train

PATCH = """\
diff --git a/src/tinycalc/order.py b/src/tinycalc/order.py
--- a/src/tinycalc/order.py
+++ b/src/tinycalc/order.py
@@ -8,5 +8,7 @@
 def median(numbers):
     ordered = sorted(numbers)
-    return ordered[len(ordered) // 2]
+    middle = len(ordered) // 2
+    if len(ordered) % 2 == 0:
+        return (ordered[middle - 1] + ordered[middle]) / 2
+    return ordered[middle]
"""
TASK = Task("tiny-median", "tiny", "0" * 40, PATCH, ("tests/test_order.py::test_median",), ())


def _result(*turns, grade=None, task=TASK):
    made = tuple(
        Turn(Action(text), Observation("do", output, 5), 0.0, 0.0) for text, output in turns
    )
    first = Observation("do", "", 9)
    return EpisodeResult(0, task, Trajectory(task.instance_id, "p", 0, first, made), grade, 0.0)


VIEW = (call("view", path="src/tinycalc/order.py"), "1\tdef median(numbers):\n")
EDITED = (call("edit", path="a.py", old="x", new="y"), "edited a.py at line 1")
TESTED = (call("run_tests"), "1 failed, 6 passed\n")
SUBMIT = (call("submit"), "submitted")


@pytest.mark.parametrize(
    ("turns", "turn", "rule", "told"),
    [
        (
            [(call("grep"), "malformed action: no tool named 'grep'; tools: bash, view")],
            0,
            "unknown_tool",
            "the tools are bash, view;",
        ),
        ([VIEW, ("oops", "malformed action: not JSON")], 1, "malformed", "not JSON"),
        (
            [(EDITED[0], "edit failed: a.py: old does not occur; nothing was changed")],
            0,
            "edit_failed",
            "exactly as it stands",
        ),
        ([VIEW, VIEW, TESTED], 1, "repeated", "exactly this before"),
        ([VIEW, EDITED, SUBMIT], 2, "untested", "run the tests on your last change"),
        ([TESTED, EDITED, SUBMIT], 2, "untested", "run the tests on your last change"),
        ([VIEW, SUBMIT], 1, "untested", "nothing was changed yet"),
    ],
)
def test_rules(turns, turn, rule, told):
    (hint,) = hints_of(_result(*turns))
    assert (hint.turn, hint.source) == (turn, f"rule:{rule}")
    assert told in hint.text
    assert len(hint.text) <= MAX_CHARS


@pytest.mark.parametrize(
    "turns",
    [
        [VIEW, EDITED, TESTED, SUBMIT],
        [TESTED, EDITED, (TESTED[0], "7 passed\n"), SUBMIT],
        [TESTED, SUBMIT],  # it looked, and there was nothing to change
    ],
)
def test_a_clean_episode_needs_no_hint(turns):
    assert hints_of(_result(*turns, grade=Grade(1.0))) == []


def test_the_turn_that_tampered_is_hinted():
    write = call("write", path="tests/test_order.py", content="")
    tampering = (Tampering("edited_tests", "tests/test_order.py", "it was emptied"),)
    turns = [VIEW, (write, "wrote tests/test_order.py"), TESTED, SUBMIT]
    (hint,) = hints_of(_result(*turns, grade=Grade(0.0, tampering=tampering)))
    assert (hint.turn, hint.source) == (1, "rule:tampering")


def test_the_grade_speaks_before_the_last_change_that_was_made():
    failed = (EDITED[0], "edit failed: a.py: old does not occur; nothing was changed")
    grade = Grade(0.0, text="Not solved: 0 of 1 tests that failed now pass.")
    turns = [VIEW, EDITED, failed, TESTED, SUBMIT]
    by_source = {hint.source: hint for hint in hints_of(_result(*turns, grade=grade))}
    assert by_source["grade"].turn == 1
    assert "0 of 1 tests" in by_source["grade"].text
    assert by_source["rule:edit_failed"].turn == 2


def test_a_solved_episode_has_nothing_to_learn_from_its_grade():
    grade = Grade(1.0, text="Solved: all pass.")
    assert hints_of(_result(VIEW, EDITED, TESTED, SUBMIT, grade=grade)) == []


# The answer


@pytest.mark.parametrize(
    "text",
    [
        "Use middle = len(ordered) // 2 first.",
        "Write `if len(ordered) % 2 == 0` before you return.",
        "return (ordered[middle-1]+ordered[middle])/2",
        "return   ordered [ middle ]",
        "It must not return ordered[len(ordered) // 2] any more.",
    ],
)
def test_what_the_patch_adds_or_takes_away_is_never_told(text):
    assert carries_answer(text, TASK)


@pytest.mark.parametrize(
    "text",
    [
        "Reminder: run the tests on your last change before you submit.",
        "Look at median in src/tinycalc/order.py.",
        "tests/test_order.py::test_median failed: assert 3 == 2.5",
    ],
)
def test_what_anyone_could_know_may_be_told(text):
    assert not carries_answer(text, TASK)


@given(
    st.sampled_from([line[1:] for line in PATCH.splitlines() if line[:2] in {"+ ", "- "}]),
    st.text("abc .\n", max_size=30),
    st.text("abc .\n", max_size=30),
)
def test_no_line_of_the_patch_gets_by_whatever_is_around_it(line, before, after):
    assert carries_answer(f"{before}\n{line}\n{after}", TASK)


def test_a_changed_line_that_looks_like_a_patchs_head_is_one():
    patch = "--- a/m.c\n+++ b/m.c\n@@ -1,2 +1,2 @@\n a;\n--- total_count;\n+++ other_count;\n"
    task = replace(TASK, patch=patch)
    assert carries_answer("try -- total_count;", task)
    assert carries_answer("try ++ other_count;", task)
    assert not carries_answer("it is in m.c", task)


def test_a_hint_that_carries_the_gold_patch_is_dropped():
    """The grade's text quotes a failing test, whose message an agent's code may have made up."""
    leak = "Not solved.\n  return (ordered[middle - 1] + ordered[middle]) / 2"
    harmless = "Not solved: 0 of 1 tests that failed now pass."
    turns = [VIEW, EDITED, TESTED, SUBMIT]
    assert hints_of(_result(*turns, grade=Grade(0.0, text=leak))) == []
    assert len(hints_of(_result(*turns, grade=Grade(0.0, text=harmless)))) == 1


def test_a_malformed_call_that_spells_out_the_answer_is_not_repeated():
    said = "malformed action: unknown key 'return (ordered[middle - 1] + ordered[middle]) / 2'"
    assert hints_of(_result(("{}", said))) == []


# A judge


class _Judge:
    version = "1"

    def __init__(self, answer):
        self._answer, self.asked = answer, None

    async def act(self, history):
        self.asked = history
        if isinstance(self._answer, Exception):
            raise self._answer
        return Action(self._answer)


EPISODE = _result(VIEW, EDITED, SUBMIT, grade=Grade(0.0, text="Not solved."))


async def test_a_judge_names_a_turn_and_what_should_have_been_said():
    judge = _Judge(call("hint", turn=2, text="Read the failing test before you edit."))
    hint = await judged(judge, EPISODE)
    assert (hint.turn, hint.source) == (1, "judge")
    seen = judge.asked.first.instruction
    assert "turn 3" in seen
    assert "Not solved." in seen
    assert "middle" not in seen.replace(EPISODE.trajectory.turns[0].observation.output, "")
    assert judge.asked.tools[0]["function"]["name"] == "hint"


@pytest.mark.parametrize(
    "answer",
    [
        call("hint", turn=2, text="Write middle = len(ordered) // 2 there."),
        call("hint", turn=4, text="There is no such turn in it."),
        call("hint", turn=0, text="There is no such turn in it."),
        call("hint", turn=True, text="There is no such turn in it."),
        call("hint", turn=1, text="short"),
        call("hint", turn=1, text="x" * (MAX_CHARS + 1)),
        call("submit"),
        "no call at all",
        json.dumps([1]),
        PolicyError("the endpoint is down"),
    ],
)
async def test_a_judge_that_says_nothing_usable_or_too_much_is_not_heard(answer):
    assert await judged(_Judge(answer), EPISODE) is None


async def test_a_judge_sees_no_patch():
    judge = _Judge(call("submit"))
    await judged(judge, replace(EPISODE, diff=PATCH))
    assert "// 2" not in judge.asked.first.instruction
