"""Quotas and caps hold, whatever the sampler; what cannot be met is told."""

from collections import Counter
from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import make_task

from codegym.curriculum.drawing import Drawing
from codegym.curriculum.features import operator_of
from codegym.curriculum.samplers import BUILTIN, load_sampler
from codegym.curriculum.spec import load_spec
from codegym.errors import DataError

ENVIRONMENTS = ("a", "b", "c")
OPERATORS = ("swap", "drop", "negate", "shift")
POOL = tuple(
    make_task(n, environment=ENVIRONMENTS[n % 3], operator=OPERATORS[(n // 3) % 4])
    for n in range(48)
)


def spec(**changes):
    return replace(load_spec("adaptive"), **changes)


@st.composite
def quotas(draw):
    parts = draw(st.lists(st.integers(1, 10), min_size=3, max_size=3))
    total = sum(parts)
    return {name: part / total for name, part in zip(ENVIRONMENTS, parts, strict=True)}


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(BUILTIN)),
    shares=quotas(),
    given_quotas=st.integers(1, 3),
    cap=st.sampled_from([0.25, 0.3, 0.5, 1.0]),
    n=st.integers(1, 60),
    seed=st.integers(0, 1000),
)
def test_each_category_gets_its_share_and_no_operator_more_than_its_cap(
    name, shares, given_quotas, cap, n, seed
):
    kept = dict(list(shares.items())[:given_quotas])
    drawing = Drawing(spec(quotas=kept, operator_cap=cap), POOL)
    drawn = drawing.draw(load_sampler(name, {}), n, np.random.default_rng(seed))
    assert len(drawn) == n
    assert {task.instance_id for task in drawn} <= {task.instance_id for task in POOL}
    counts = Counter(task.environment for task in drawn)
    for category, share in kept.items():
        assert abs(counts[category] - share * n) < 1.0
    for part in drawing.parts:
        inside = {task.instance_id for task in part.tasks}
        of_part = [task for task in drawn if task.instance_id in inside]
        limit = max(1, ceil(cap * len(of_part) - 1e-9))
        assert max(Counter(map(operator_of, of_part)).values(), default=0) <= limit


def test_shares_hold_on_average_for_single_draws():
    drawing = Drawing(spec(quotas={"a": 0.7}), POOL)
    rng, sampler = np.random.default_rng(0), load_sampler("frontier_hybrid", {})
    drawn = [drawing.one(sampler, rng).environment for _ in range(600)]
    assert 0.63 < drawn.count("a") / 600 < 0.77


def test_the_same_seed_draws_the_same():
    drawing = Drawing(spec(quotas={"a": 0.5}, operator_cap=0.5), POOL)
    sampler = load_sampler("plr", {})
    one, two = (drawing.draw(sampler, 20, np.random.default_rng(4)) for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"quotas": {"aa": 0.5}}, r"quotas: no environment named 'aa'; .*the pool has: a, b, c"),
        ({"quotas": {"a": 0.5, "b": 0.2, "c": 0.1}}, "quotas: add up to 0.8, and no other"),
        (
            {"operator_cap": 0.2},
            r"caps\.operator: 0.2 cannot be met: .* have 4 operators, so 0.25 is",
        ),
        (
            {"quotas": {"a": 0.5}, "environment_cap": 0.5},
            r"caps\.environment: 0.5 cannot be met: .* of a have 1 environment, so 1",
        ),
    ],
)
def test_what_the_pool_cannot_give_is_told(changes, problem):
    with pytest.raises(DataError, match=problem):
        Drawing(spec(**changes), POOL)


def test_a_small_group_is_drawn_again_rather_than_a_cap_broken():
    pool = [make_task(n, operator="swap") for n in range(30)] + [make_task(30, operator="drop")]
    drawing = Drawing(spec(operator_cap=0.5), pool)
    drawn = drawing.draw(load_sampler("uniform", {}), 10, np.random.default_rng(0))
    assert Counter(map(operator_of, drawn)) == {"swap": 5, "drop": 5}
