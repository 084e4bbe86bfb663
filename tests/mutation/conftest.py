"""What tests of mutation share."""

import numpy as np
import pytest
from small_project import Project, small_project

from codegym.mutation.operators import load_operators
from codegym.syntax import apply_edits, grammar, parse, walk


def edits_of(operator, source, seed=0):
    """All edits that an operator finds in a source text."""
    (language,) = operator.languages
    parsed = parse(source, language)
    assert parsed.is_clean, source.decode()
    rng = np.random.default_rng(seed)
    inert = grammar(language).inert
    return [edit for node in walk(parsed.root, inert) for edit in operator(node, source, rng)]


def mutants_of(name, text, language="python", seeds=range(12)):
    """What an operator can make of a text, over some seeds."""
    (operator,) = load_operators([name], language, ["FixTests", "ImplementFeature"])
    source = text.encode()
    return {
        apply_edits(source, [edit]).decode()
        for seed in seeds
        for edit in edits_of(operator, source, seed)
    }


@pytest.fixture(scope="session")
def mutants():
    return mutants_of


@pytest.fixture(scope="session")
def find_edits():
    return edits_of


@pytest.fixture(scope="session")
def project():
    return small_project()


@pytest.fixture(scope="session")
def make_project():
    return Project
