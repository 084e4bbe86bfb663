"""Candidates: found in order, drawn by a seed, never in tests."""

from collections import Counter
from itertools import islice

import pytest
from support import make_tiny_environment

from codegym.mutation.candidates import Candidate, draw, find_candidates, sources
from codegym.mutation.operators import load_operators
from codegym.syntax import Edit, apply_edits
from codegym.types import File
from codegym.workspace.history import open_history

KINDS = ["FixTests", "ImplementFeature"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")


@pytest.fixture(scope="module")
def tree(tiny):
    return open_history(tiny).tree_at(tiny.head)


@pytest.fixture(scope="module")
def files(tiny, tree):
    return sources(tiny, tree)


def test_only_sources_that_may_be_edited(tiny, tree):
    more = {
        "src/tinycalc/test_inner.py": File(b"x = 1\n"),
        "src/tinycalc/broken.py": File(b"print 'no\n"),
        "src/tinycalc/notes.txt": File(b"x = 1\n"),
        "src/tinycalc/link.py": File(b"arith.py", "120000"),
        "src/conftest.py": File(b"x = 1\n"),
        "setup.py": File(b"x = 1\n"),
    }
    found = sources(tiny, {**tree, **more})
    assert set(found) == {
        "src/tinycalc/__init__.py",
        "src/tinycalc/arith.py",
        "src/tinycalc/order.py",
        "src/tinycalc/test_inner.py",
    }


def test_a_seed_decides_the_order_and_nothing_else(files):
    operators = load_operators((), "python", KINDS)
    first, again, other = (
        list(draw(find_candidates(files, operators, seed), seed)) for seed in (1, 1, 2)
    )
    assert [one.digest for one in first] == [one.digest for one in again]
    assert [one.digest for one in first] != [one.digest for one in other]
    assert Counter(one.operator for one in first) == Counter(one.operator for one in other)


def test_other_operators_have_no_part_in_what_one_finds(files):
    alone = find_candidates(files, load_operators(["wrong_variable"], "python", KINDS), 3)
    among = find_candidates(files, load_operators((), "python", KINDS), 3)
    assert alone
    assert alone == [one for one in among if one.operator == "python.wrong_variable"]


def test_operators_and_kinds_take_turns(files):
    found = find_candidates(files, load_operators((), "python", KINDS), 0)
    drawn = list(islice(draw(found, 0), 6))
    assert [one.kind for one in drawn] == KINDS * 3
    fixes = [one for one in draw(found, 0) if one.kind == "FixTests"]
    operators = {one.operator for one in fixes}
    assert {one.operator for one in fixes[: len(operators)]} == operators
    assert len(list(draw(found, 0))) == len(found)


class Useless:
    """Looks at every node, and has nothing to offer."""

    id, version, languages, tier = "useless", "1", ("python",), 1

    def __call__(self, node, source, rng):
        yield Edit(node.start_byte, node.end_byte, source[node.start_byte : node.end_byte])
        yield Edit(node.start_byte, len(source) + 1, b"")


def test_edits_that_change_nothing_or_lie_beyond_the_end_are_none(files):
    assert find_candidates(files, [Useless()], 0) == []


def test_a_candidate_is_told_by_what_it_makes(files):
    (one, *_) = find_candidates(files, load_operators(["comparison"], "python", KINDS), 0)
    assert one.function
    assert one.mutant != one.source.source
    assert len(one.digest) == 64


def joined(files, *names, order=2):
    """Some edits of some operators, as one candidate."""
    spots = []
    for name in names:
        (one, *_) = find_candidates(files, load_operators([name], "python", KINDS), 0)
        spots += one.spots
    return Candidate.of(spots, operator="composite.x", version="2", tier=4, order=order)


def test_edits_that_are_joined(files):
    one = joined(files, "arithmetic", "comparison", "augmented_assignment")
    paths = sorted(files)[1:3]
    assert list(one.files) == list(one.mutants) == paths
    assert [spot.path for spot in one.spots] == sorted(spot.path for spot in one.spots)
    for path in paths:
        assert one.mutants[path] == apply_edits(files[path].source, one.files[path][1])
    assert one.mutant == one.mutants[paths[0]]
    assert dict(one.operators) == {
        "composite.x": "2",
        "python.arithmetic": "1",
        "python.comparison": "1",
        "python.augmented_assignment": "1",
    }


def test_a_digest_is_of_all_that_changes_and_of_nothing_else(files):
    single = joined(files, "arithmetic", order=1)
    (plain, *_) = find_candidates(files, load_operators(["arithmetic"], "python", KINDS), 0)
    assert single.digest == plain.digest
    both = joined(files, "arithmetic", "augmented_assignment")
    assert both.digest == joined(files, "augmented_assignment", "arithmetic").digest
    assert len({both.digest, plain.digest, joined(files, "augmented_assignment").digest}) == 3


def test_no_edits_are_no_candidate():
    with pytest.raises(ValueError, match="no edits"):
        Candidate.of([], operator="x", version="1", tier=4, order=2)
