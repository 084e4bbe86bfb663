"""Commits taken back: from real histories, exactly or not at all."""

import pytest
from support import make_tiny_environment

from codegym.mutation import COMPOSITES
from codegym.mutation.candidates import sources
from codegym.mutation.composites import Calls, Ground
from codegym.syntax import reparse
from codegym.tasks import sources as named
from codegym.workspace.history import open_history


def reverts(environment, most=3):
    tree = open_history(environment).tree_at(environment.head)
    files = sources(environment, tree)
    ground = Ground(environment, tree, files, [], Calls(files), most=most)
    return list(COMPOSITES["composite.revert"].propose(ground))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")


def test_the_newest_commit_is_taken_back_to_the_letter(tiny):
    (one,) = reverts(tiny)  # the others brought files that came with them
    history = open_history(tiny)
    (commit,) = dict(one.why)["commits"].split()
    assert commit == tiny.head
    parent = history.tree_at(history.commits(tiny.head)[-1].parents[0])
    assert one.mutants == {path: parent[path].data for path in ["src/tinycalc/order.py"]}
    assert one.functions == (("src/tinycalc/order.py", "median"),)


@pytest.mark.parametrize("name", ["kvlog", "calcsheet", "routekit"])
def test_of_real_histories_some_commits_can_go_and_all_parse(name):
    environment = named.environment(name)
    found = reverts(environment)
    assert len(found) > 5
    assert {one.order for one in found} <= {2, 3}
    assert any(len(dict(one.why)["commits"].split()) > 1 for one in found)
    for one in found:
        for parsed, edits in one.files.values():
            assert reparse(parsed, edits).is_clean
    assert [one.digest for one in found] == [one.digest for one in reverts(environment)]


def test_no_more_commits_than_asked_for():
    environment = named.environment("kvlog")
    assert {len(dict(one.why)["commits"].split()) for one in reverts(environment, 2)} == {1, 2}
