"""Rates, intervals and paired tests, against slow and obvious references."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.evaluation.comparing import compare, holm, mcnemar, sign_flip
from codegym.evaluation.rates import interval, pass_at_k, solve_rate
from codegym.runs import wilson

flips = st.lists(st.booleans(), min_size=1, max_size=6)
outcomes = st.dictionaries(st.text("abc", min_size=1), flips, min_size=1, max_size=6)


@given(outcomes)
@settings(max_examples=15, deadline=None)
def test_a_rate_lies_in_its_interval(found):
    low, high = interval(found)
    rate = solve_rate(found)
    assert 0 <= low <= rate + 1e-12
    assert rate - 1e-12 <= high <= 1


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_one_sample_a_task_has_wilsons_interval(solved):
    found = {str(number): [each] for number, each in enumerate(solved)}
    assert interval(found) == wilson(sum(solved), len(solved))


def test_samples_of_one_task_are_no_independent_evidence():
    clustered = {"a": [True] * 50, "b": [False] * 50}
    independent = wilson(50, 100)
    low, high = interval(clustered)
    assert high - low > 2 * (independent[1] - independent[0])


def test_nothing_is_known_of_nothing():
    assert solve_rate({}) is None
    assert interval({}) == (0.0, 1.0)
    assert pass_at_k({}) == {}


def test_tasks_that_are_all_alike_keep_an_interval():
    assert interval({"a": [True, True], "b": [True, True]}) == wilson(2, 2)


@given(flips)
def test_pass_at_k_is_the_share_of_subsets_that_hold_a_success(solved):
    for k, value in pass_at_k({"a": solved}).items():
        subsets = list(combinations(solved, k))
        assert value == pytest.approx(sum(any(one) for one in subsets) / len(subsets))


def test_pass_at_k_goes_as_far_as_the_task_with_the_least_samples():
    assert list(pass_at_k({"a": [True] * 5, "b": [False] * 8})) == [1, 2, 4, 5]


@given(st.integers(0, 8), st.integers(0, 8))
def test_mcnemar_counts_the_splits_that_are_at_least_as_uneven(first, second):
    total = first + second
    uneven = abs(first - second)
    splits = [comb(total, each) for each in range(total + 1) if abs(total - 2 * each) >= uneven]
    assert mcnemar(first, second) == pytest.approx(sum(splits) / 2**total)


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=12))
def test_flipping_signs_of_single_pairs_is_mcnemars_test(differences):
    first, second = differences.count(1.0), differences.count(-1.0)
    assert sign_flip(np.array(differences)) == pytest.approx(mcnemar(first, second))


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.25, 1.0]), min_size=1, max_size=8))
def test_all_flips_are_gone_through_where_they_are_few(differences):
    total = abs(sum(differences))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(each >= total - 1e-9 for each in sums) / len(sums)
    assert sign_flip(np.array(differences)) == pytest.approx(expected)


def test_drawn_flips_come_near_the_exact_value():
    differences = np.array([1.0] * 14 + [-1.0] * 6)
    assert sign_flip(differences) == pytest.approx(mcnemar(14, 6), abs=0.005)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_nor_their_order(given_values):
    adjusted = holm(given_values)
    assert all(new >= old for new, old in zip(adjusted, given_values, strict=True))
    order = sorted(range(len(given_values)), key=given_values.__getitem__)
    assert [adjusted[at] for at in order] == sorted(adjusted)
    assert min(adjusted) == min(1.0, len(given_values) * min(given_values))


def test_holms_own_example_of_three():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_comparison_reads_the_same_from_both_sides():
    pairs = {"a": [(True, False)], "b": [(True, False)], "c": [(False, True)], "d": [(True, True)]}
    one = compare(pairs)
    other = compare({task: [(b, a) for a, b in each] for task, each in pairs.items()})
    assert (one.only_first, one.only_second, one.pairs, one.tasks) == (2, 1, 4, 4)
    assert one.difference == pytest.approx(0.25)
    assert one.test == "mcnemar"
    assert one.p == other.p == mcnemar(2, 1)
    assert one.reversed().difference == other.difference
    assert one.ci95[0] <= one.difference <= one.ci95[1]


def test_two_that_never_differ_may_still_differ_a_little():
    one = compare({str(number): [(False, False)] for number in range(10)})
    assert one.p == 1.0
    assert one.ci95 == (-wilson(0, 10)[1], wilson(0, 10)[1])


def test_many_samples_of_one_task_prove_nothing():
    assert compare({"a": [(True, False)] * 30}).p == 1.0


def test_there_must_be_a_pair():
    with pytest.raises(ValueError, match="no pair"):
        compare({})
