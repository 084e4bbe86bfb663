"""The verdict and its words: exact ids, no more, no less, and nothing of what is hidden."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.grading.feedback import MAX_CHARS, feedback
from codegym.grading.verdict import grade_of, settle
from codegym.types import Grade, Refusal, Tampering, Task, TestOutcome

A, B, C = (
    "tests/test_x.py::test_a",
    "tests/test_x.py::TestC::test_b[1 [x]]",
    "tests/test_y.py::test_c",
)
TASK = Task("t-1", "env", "0" * 40, "patch", (A,), (B, C))


def record(test_id: str, outcome="passed", message="") -> TestOutcome:
    return TestOutcome(test_id, outcome, 0.1, message)


ALL = [record(A), record(B), record(C)]


def score(records) -> float:
    verdict = settle(TASK.test_ids, records)
    return grade_of(TASK, verdict.outcomes, verdict.tampering).score


def test_all_of_them_once_solve_it_in_any_order():
    assert score(ALL) == 1.0
    assert score(ALL[::-1]) == 1.0


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped"])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_one_that_does_not_pass_fails_it(outcome, which):
    records = list(ALL)
    records[which] = replace(records[which], outcome=outcome)
    assert score(records) == 0.0
    assert not settle(TASK.test_ids, records).tampering


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_missing_one_fails_it(which):
    records = ALL[:which] + ALL[which + 1 :]
    verdict = settle(TASK.test_ids, records)
    assert verdict.outcomes[which].outcome == "missing"
    assert not verdict.tampering
    assert score(records) == 0.0


@pytest.mark.parametrize("second", ["passed", "failed"])
def test_a_doubled_one_is_forged(second):
    for records in ([*ALL, record(B, second)], [record(B, second), *ALL]):
        verdict = settle(TASK.test_ids, records)
        assert [found.kind for found in verdict.tampering] == ["report"]
        assert verdict.outcomes[1].outcome == "error"
        assert score(records) == 0.0


@pytest.mark.parametrize("outcome", ["passed", "failed", "skipped"])
def test_one_that_was_not_asked_for_is_forged(outcome):
    records = [*ALL, record("tests/test_x.py::test_other", outcome)]
    assert [found.kind for found in settle(TASK.test_ids, records).tampering] == ["report"]
    assert score(records) == 0.0


def test_how_many_were_forged_is_not_told():
    """Code under test could spell a hidden test in it, a few letters a grade."""
    for one in (record("tests/test_x.py::test_other"), record(B)):
        once, often = (settle(TASK.test_ids, [*ALL, *[one] * n]).tampering for n in (1, 77))
        assert once == often


def test_a_file_that_passes_is_no_test():
    assert [f.kind for f in settle((A,), [record(A), record("tests/test_x.py")]).tampering]


@pytest.mark.parametrize("where", ["tests/test_x.py::TestC", "tests/test_x.py", "tests", ""])
def test_what_broke_collection_explains_what_is_missing(where):
    verdict = settle((B,), [record(where, "error", "ImportError: x")])
    assert verdict.outcomes == (TestOutcome(B, "missing", message="ImportError: x"),)
    assert not verdict.tampering


records = st.builds(
    TestOutcome,
    st.sampled_from([A, B, C, "tests/test_x.py", "tests", "elsewhere", ""]),
    st.sampled_from(["passed", "failed", "error", "skipped"]),
)


@given(st.lists(records, max_size=8))
def test_only_three_single_passes_score(found):
    ids = [one.id for one in found]
    honest = all(ids.count(name) == 1 for name in (A, B, C)) and all(
        one.outcome == "passed" for one in found if one.id in (A, B, C)
    )
    extra = [one for one in found if one.id not in (A, B, C)]
    benign = all(one.outcome in ("error", "skipped") and one.id != "elsewhere" for one in extra)
    assert score(found) == (1.0 if honest and benign else 0.0)


@given(st.lists(records, max_size=8))
def test_outcomes_are_the_expected_ids_in_order(found):
    verdict = settle(TASK.test_ids, found)
    assert tuple(outcome.id for outcome in verdict.outcomes) == TASK.test_ids
    fractions = grade_of(TASK, verdict.outcomes, verdict.tampering)
    assert 0 <= fractions.fail_to_pass <= 1
    assert 0 <= fractions.pass_to_pass <= 1


def test_tampering_is_zero_whatever_passes():
    grade = grade_of(TASK, ALL, [Tampering("edited_tests", "tests/test_x.py", "edits a test file")])
    assert grade.score == 0.0
    assert grade.fail_to_pass == grade.pass_to_pass == 1.0


# In words


def graded(outcomes, task=TASK, **more) -> Grade:
    made = replace(grade_of(task, outcomes, more.pop("tampering", ())), **more)
    return replace(made, text=feedback(made, task, more.pop("note", "")))


def test_solved():
    assert graded(ALL).text == (
        "Solved: 1 of 1 tests that failed now pass, 2 of 2 others still pass."
    )


def test_the_first_failure_is_told_with_its_last_lines():
    text = graded([record(A, "failed", "first\n" * 50 + "E  assert 3 == 2.5"), *ALL[1:]]).text
    assert f"First that does not pass: {A} failed." in text
    assert text.endswith("E  assert 3 == 2.5")
    assert text.count("first") < 15


def test_tampering_and_refusals_are_told():
    text = graded(
        ALL,
        tampering=[
            Tampering("added_conftest", f"{n}/conftest.py", "adds a conftest") for n in "abcde"
        ],
        refused=(Refusal("tests/test_mine.py", "protected"), Refusal("", "and 3 more")),
        attempts=(Tampering("git_search", "", "git reflog (commits that were left behind)"),),
    ).text
    assert "score is 0 because of tampering" in text
    assert "added_conftest: a/conftest.py adds a conftest" in text
    assert "and 1 more" in text
    assert "Not taken: tests/test_mine.py (protected); and 3 more." in text
    assert "Looked for in vain: git reflog" in text
    assert "other checks" not in text


HIDING = replace(TASK, hidden=frozenset({A, C}))
SECRET = [record(A, "failed", "the hidden message"), record(B), record(C, "failed", "another")]


def test_nothing_of_hidden_tests_is_told():
    text = graded(SECRET, HIDING).text
    assert text == (
        "Not solved: 1 of 1 others still pass.\n"
        "All tests you can see pass, but other checks failed."
    )


def test_where_a_shown_test_fails_hidden_ones_are_not_mentioned():
    shown_fails = [SECRET[0], record(B, "failed", "copied out of a hidden test"), SECRET[2]]
    all_hidden_pass = [record(A), shown_fails[1], record(C)]
    texts = {graded(outcomes, HIDING).text for outcomes in (shown_fails, all_hidden_pass)}
    assert len(texts) == 1
    assert "copied" not in texts.pop()


@given(st.text(max_size=3000), st.lists(st.builds(Refusal, st.text(), st.text()), max_size=9))
def test_the_text_is_bounded(message, refused):
    text = graded([record(A, "failed", message), *ALL[1:]], refused=tuple(refused)).text
    assert len(text) <= MAX_CHARS
