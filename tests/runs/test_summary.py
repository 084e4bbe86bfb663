"""The figures of a run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.runs import EpisodeRecord, summarize, wilson
from codegym.types import Attestation, Grade, Manifest, Tampering

RECORD = EpisodeRecord(
    index=0,
    task_id="t",
    seed=0,
    steps=3,
    tokens=10,
    terminated=True,
    truncated=False,
    reward=1.0,
    grade=Grade(1.0),
    fault="",
    error="",
    diff="",
    reset_sec=0.01,
    seconds=2.0,
    attestation=Attestation({}),
    work=Manifest(),
)
FAILED = Grade(0.0, tampering=(Tampering("git", "", "x"),))


@pytest.mark.parametrize(
    ("solved", "graded", "low", "high"),
    [  # from the literature and, where it has none, by hand from the closed form
        (0, 10, 0.0, 0.27753),
        (10, 10, 0.72247, 1.0),
        (5, 10, 0.23659, 0.76341),
        (1, 1, 0.20655, 1.0),
        (81, 263, 0.25529, 0.36621),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson(solved, graded, low, high):
    assert wilson(solved, graded) == pytest.approx((low, high), abs=1e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate(counts):
    low, high = wilson(*counts)
    assert 0 <= low <= counts[0] / counts[1] <= high <= 1
    assert low < high


def test_faults_are_no_evidence():
    records = [
        RECORD,
        replace(RECORD, index=1, grade=FAILED, reward=0.0, seconds=4.0),
        replace(RECORD, index=2, grade=None, fault="sandbox", reward=0.0, steps=99),
        replace(RECORD, index=3, grade=None, fault="task", reward=0.0),
    ]
    summary = summarize(records)
    assert (summary.episodes, summary.graded, summary.solved, summary.faults) == (4, 2, 1, 2)
    assert (summary.sandbox_faults, summary.task_faults, summary.tampered) == (1, 1, 1)
    assert summary.solve_rate == 0.5
    assert summary.reward == 0.5
    assert (summary.steps, summary.tokens, summary.episode_sec) == (6, 20, 3.0)
    assert summary.reset_ms == pytest.approx(10.0)


def test_the_later_record_of_an_episode_counts():
    broken = replace(RECORD, grade=None, fault="sandbox")
    assert summarize([broken, RECORD]).solve_rate == 1.0
    assert summarize([broken, RECORD]).episodes == 1


def test_nothing_graded():
    summary = summarize([replace(RECORD, grade=None, fault="task", error="it is broken")])
    assert summary.broken == {RECORD.task_id: "it is broken"}
    assert (summary.solve_rate, summary.ci95, summary.reward) == (None, (0.0, 1.0), None)


def test_why_infrastructure_failed_is_counted():
    faulty = [
        replace(RECORD, index=index, grade=None, fault="sandbox", error="the index is out of reach")
        for index in range(3)
    ]
    summary = summarize(
        [*faulty, replace(RECORD, index=9, grade=None, fault="policy", error="down")]
    )
    assert summary.reasons == {"the index is out of reach": 3, "down": 1}
    assert summarize([RECORD]).reasons == {}
