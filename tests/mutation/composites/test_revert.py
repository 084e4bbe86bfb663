"""Commits taken back: from real histories, exactly or not at all."""

from types import SimpleNamespace

import pytest
from support import git, make_repository, make_tiny_environment

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


SOURCE = """\
# {note}


def doubled(number):
    \"""Twice as much.\"""
    return number * {factor}


def next_of(number):
    \"""One more.\"""
    return number + {step}


def kept(number):
    return number
"""
TESTS = """\
from numbers_of import doubled, kept, next_of


def test_doubled():
    assert doubled(2) == 4


def test_next_of():
    assert next_of(2) == 3


def test_kept():
    assert kept(2) == 2
"""


async def test_of_several_commits_each_is_needed(make_project, tmp_path):
    """One mends a function, the next another, the last a comment that nothing depends on."""
    states = [
        {"note": "Numbers", "factor": 3, "step": 2},
        {"note": "Numbers", "factor": 2, "step": 2},
        {"note": "Numbers", "factor": 2, "step": 1},
        {"note": "Of numbers", "factor": 2, "step": 1},
    ]
    texts = [SOURCE.format(**state) for state in states]
    repository = make_repository(tmp_path / "made", {"numbers_of.py": texts[0]}, "0")
    commits = []
    for number, text in enumerate(texts[1:], 1):
        (repository / "numbers_of.py").write_text(text)
        git(repository, "commit", "-q", "-a", "-m", str(number))
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    history = tmp_path / "history.fast-export"
    history.write_text(git(repository, "fast-export", "main"))
    home = SimpleNamespace(
        name="numbers", language="python", head=commits[-1], history=history, folder=tmp_path
    )
    project = make_project({"numbers_of.py": texts[-1]}, TESTS)
    revert = COMPOSITES["composite.revert"]
    found = {}
    for one in revert.propose(await project.ground(environment=home)):
        group = dict(one.why)["commits"].split()
        assert len(one.parts) == (len(group) if len(group) > 1 else 0)
        numbers = tuple(sorted(commits.index(each) + 1 for each in group))
        found[numbers] = (await project.verdict(revert, one))[0]
    needless = dict.fromkeys([(1, 3), (2, 3), (1, 2, 3)], "not_needed")
    assert found == {(1,): None, (2,): None, (3,): "survived", (1, 2): None, **needless}
