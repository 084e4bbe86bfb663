"""Mutants of the tiny environment, and an env over them."""

import pytest
from mutants import make_mutant_home


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder in which ``tiny`` stands for an environment whose tasks are mutants."""
    return make_mutant_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.fixture
def make():
    """Makes envs, closed at the end."""
    from codegym.integrations.sb3.env import CandidateEdits

    made = []

    def one(tasks="tiny", **options):
        made.append(CandidateEdits(tasks, **options))
        return made[-1]

    yield one
    for env in made:
        env.close()
