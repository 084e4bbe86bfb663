"""What the operators of each language make of a source; `cases/` says it, a file a language.

A case is `== NAME`, the source, and after each `--` one of its mutants: these and no others. `top`
after the name is for what cannot stand in a function.
"""

import re
from pathlib import Path

import pytest

from codegym.mutation.operators import BUILTIN
from codegym.mutation.operators.python.queried import OPERATORS as QUERIED

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


ALL = list(_cases())


@pytest.mark.parametrize(
    ("language", "name", "top", "source", "expected"), ALL, ids=lambda one: str(one)[:40]
)
def test_what_it_makes(mutants, language, name, top, source, expected):
    around = PACKAGE.get(language, "") + "%s" if top else AROUND.get(language, "%s")
    before, _, after = around.partition("%s")
    made = mutants(name, before + source + after, language)
    assert {one.removeprefix(before).removesuffix(after) for one in made} == expected


def test_every_operator_has_a_case():
    covered = {f"{language}.{name}" for language, name, _, _, expected in ALL if expected}
    queried = {one.id for one in vars(QUERIED).values()}  # for others see test_python_operators
    assert covered == {one for one in BUILTIN if not one.startswith("python.")} | queried
