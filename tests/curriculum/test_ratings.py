"""Difficulties from episodes: finite, uncertain where little is known, and beside the pack."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import make_task

from codegym.curriculum import open_curriculum
from codegym.curriculum.ratings import (
    agreement,
    rate,
    ratings_file,
    read_ratings,
    write_ratings,
)
from codegym.errors import DataError
from codegym.tasks import resolve

TASKS = [make_task(n, difficulty=0.0) for n in range(12)]


def played(skills, difficulties, episodes, seed=0):
    rng = np.random.default_rng(seed)
    return {
        f"task-{n}": {
            name: (int(rng.binomial(episodes, 1 / (1 + np.exp(b - skill)))), episodes)
            for name, skill in skills.items()
        }
        for n, b in enumerate(difficulties)
    }


def test_it_recovers_an_order_that_several_policies_agree_on():
    truth = np.linspace(-3, 3, len(TASKS))
    ratings = rate(TASKS, played({"weak": -1.0, "middle": 0.0, "strong": 1.0}, truth, 40))
    found = np.array([rating.difficulty for rating in ratings])
    assert np.corrcoef(found, truth)[0, 1] > 0.97
    inside = sum(r.low <= b - truth.mean() <= r.high for r, b in zip(ratings, truth, strict=True))
    assert inside >= 10
    assert min(agreement(ratings).values()) > 0.7


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([task.instance_id for task in TASKS]),
        st.dictionaries(
            st.sampled_from("abc"),
            st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        ),
    )
)
def test_every_rating_is_finite_and_in_its_interval(tries):
    for rating in rate(TASKS, tries):
        assert np.isfinite([rating.low, rating.difficulty, rating.high]).all()
        assert rating.low < rating.difficulty < rating.high
        assert abs(rating.difficulty) < 30


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ratings_are_where_nothing_pulls_any_more(seed):
    """At the mode no difficulty, with skills that are best for all, has a slope."""
    rng = np.random.default_rng(seed)
    policies = int(rng.integers(1, 4))
    total = rng.choice([0, 1, 16, 5000], size=(len(TASKS), policies))
    odds = rng.normal(0, 4, (1, policies)) - rng.normal(0, 3, (len(TASKS), 1))
    solved = rng.binomial(total, 1 / (1 + np.exp(-odds)))
    tries = {
        task.instance_id: {
            f"p{n}": (int(a), int(b)) for n, (a, b) in enumerate(zip(*each, strict=True))
        }
        for task, *each in zip(TASKS, solved, total, strict=True)
    }
    ratings = rate(TASKS, tries)
    found = np.array([rating.difficulty for rating in ratings])
    labels = np.array([rating.predicted for rating in ratings])
    low, high = np.full(policies, -40.0), np.full(policies, 40.0)
    for _ in range(100):
        skill = (low + high) / 2
        chance = 1 / (1 + np.exp(found[:, None] - skill))
        up = (solved - total * chance).sum(axis=0) - skill / 9 > 0
        low, high = np.where(up, skill, low), np.where(up, high, skill)
    slope = (total * chance - solved).sum(axis=1) - (found - labels) / 4
    curvature = (total * chance * (1 - chance)).sum(axis=1) + 1 / 4
    assert np.abs(slope / curvature).max() < 0.01


def test_more_episodes_make_a_rating_surer_and_failures_harder():
    few, many = (rate(TASKS[:2], played({"p": 0.0}, [0, 0], n)) for n in (2, 200))
    assert many[0].high - many[0].low < few[0].high - few[0].low
    never, always = rate(TASKS[:2], {"task-0": {"p": (0, 4)}, "task-1": {"p": (4, 4)}})
    assert never.difficulty > 0 > always.difficulty


def test_nothing_is_said_of_policies_that_tell_tasks_apart_in_no_way():
    assert (
        agreement(rate(TASKS[:2], {f"task-{n}": {"p": (0, 4), "q": (4, 4)} for n in (0, 1)})) == {}
    )


def test_they_go_through_their_file_which_lies_beside_the_tasks(at_home):
    source = resolve("tiny")
    path = ratings_file(source)
    assert path == source.path.with_name("ratings.jsonl")
    assert read_ratings(path) == {}
    path = at_home / "ratings.jsonl"
    ratings = rate(TASKS, played({"p@1": 0.0}, np.zeros(12), 4))
    write_ratings(path, ratings)
    assert list(read_ratings(path).values()) == ratings
    path.write_text('{"task_id": "a"}\n')
    with pytest.raises(DataError, match=r"ratings.jsonl:1: difficulty: field required"):
        read_ratings(path)


def test_those_of_bundled_tasks_do_not_lie_in_the_installation(at_home):
    assert ratings_file(resolve("kvlog")) == at_home / ".codegym" / "ratings" / "kvlog.jsonl"


def test_a_curriculum_begins_with_them(at_home, write_spec, home):
    from codegym.tasks.rows import write_rows

    write_rows(at_home / "own.jsonl", resolve("tiny"))
    spec = write_spec('[pool]\ntasks = ["own.jsonl"]')
    before = open_curriculum(spec)
    tasks = list(resolve("own.jsonl"))
    tries = {task.instance_id: {"p": (0, 8)} for task in tasks}
    tries["tiny-3"] = {"p": (8, 8)}
    write_ratings(Path("own.ratings.jsonl"), rate(tasks, tries))
    after = open_curriculum(spec)
    assert after.digest != before.digest
    assert after.state_path == before.state_path  # what was learned stays
    chances = {each.task_id: each.chance for each in after.expectations(after.pool)}
    assert max(chances, key=chances.get) == "tiny-3"
