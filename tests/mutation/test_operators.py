"""What the operators of each language make of a source; `cases/` says it, a file a language.

A case is `== NAME`, the source, and after each `--` one of its mutants: these and no others. `top`
after the name is for what cannot stand in a function.
"""

import re
from pathlib import Path

import pytest

from codegym.mutation.operators import BUILTIN, c, go, java, javascript, rust, typescript
from codegym.mutation.operators.predicates import PREDICATES
from codegym.mutation.operators.python import queried
from codegym.mutation.operators.queried import Section
from codegym.mutation.operators.recipes import RECIPES
from codegym.mutation.operators.sections import compiled

CASES = Path(__file__).parent / "cases"
AROUND = {
    "go": "package p\n\nfunc around() {\n%s}\n",
    "rust": "fn around() {\n%s}\n",
    "java": "class Around { void around() {\n%s} }\n",
    "c": "void around(void) {\n%s}\n",
}
PACKAGE = {"go": "package p\n"}


def _cases():
    for file in sorted(CASES.glob("*.txt")):
        for block in re.split("^== ", file.read_text(), flags=re.MULTILINE)[1:]:
            head, _, rest = block.partition("\n")
            name, _, top = head.partition(" ")
            source, *expected = re.split("^--\n", rest, flags=re.MULTILINE)
            yield file.stem, name, bool(top), source, set(expected)


def _id(value):
    return (str(sorted(value)) if isinstance(value, set) else str(value))[:40]


ALL = list(_cases())


@pytest.mark.parametrize(("language", "name", "top", "source", "expected"), ALL, ids=_id)
def test_what_it_makes(mutants, language, name, top, source, expected):
    around = PACKAGE.get(language, "") + "%s" if top else AROUND.get(language, "%s")
    before, _, after = around.partition("%s")
    made = mutants(name, before + source + after, language)
    assert {one.removeprefix(before).removesuffix(after) for one in made} == expected


QUERIED_IN = [javascript, typescript, go, rust, java, c, queried]


@pytest.mark.parametrize("module", QUERIED_IN, ids=lambda one: one.DIALECT.language)
def test_every_pattern_says_what_is_made_of_it(module):
    tables = module.DIALECT.tables
    for operator in vars(module.OPERATORS).values():
        if not isinstance(operator.find, Section):
            continue  # its patterns only say what there is
        query = compiled(module.DIALECT.language, operator.find.patterns)
        for pattern in range(query.pattern_count):
            ((recipe, argument),) = query.pattern_settings(pattern).items()
            assert recipe in RECIPES, operator.id
            assert recipe not in ("one", "other") or argument in tables, (operator.id, argument)


@pytest.mark.parametrize("module", QUERIED_IN, ids=lambda one: one.DIALECT.language)
def test_every_predicate_is_known(module):
    """Tree-sitter would call one that is not without a word, and fail far from here."""
    for operator in vars(module.OPERATORS).values():
        named = set(re.findall(r"#(?:not-)?([a-z-]+)\?", operator.find.patterns))
        assert named <= {"eq", "match", "any-of", *PREDICATES}, operator.id


def test_every_operator_has_a_case():
    covered = {f"{language}.{name}" for language, name, _, _, expected in ALL if expected}
    ours = {one.id for one in vars(queried.OPERATORS).values()}  # test_python_operators has others
    assert covered == {one for one in BUILTIN if not one.startswith("python.")} | ours
