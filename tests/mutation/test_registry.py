"""Operators by name, plug-ins among them."""

import sys
import types

import pytest

from codegym.errors import NotFoundError, UsageError
from codegym.mutation.operators import BUILTIN, CATALOGUE, kind_of, load_operators

FIX = ["FixTests"]


class Mine:
    """An operator from outside: a class is made an instance of."""

    id, version, languages, tier = "mine.swap", "3", ("python",), 2

    def __call__(self, node, source, rng):
        return ()


@pytest.fixture
def plugin(monkeypatch):
    module = types.ModuleType("mine")
    module.Mine, module.ready, module.nothing = Mine, Mine(), 3
    module.Foreign = type("Foreign", (Mine,), {"languages": ("rust",)})
    monkeypatch.setitem(sys.modules, "mine", module)


@pytest.mark.parametrize(
    "language", ["python", "javascript", "typescript", "go", "rust", "java", "c"]
)
def test_all_of_a_kind(language):
    faults = load_operators((), language, FIX)
    names = [name for name in BUILTIN if name.startswith(f"{language}.")]
    assert len(faults) == len(names) - 1 >= 22
    (feature,) = load_operators((), language, ["ImplementFeature"])
    assert feature.id == f"{language}.remove_body"
    assert {one.id for one in faults} | {feature.id} == set(names)


def test_none_of_a_language_that_has_none():
    assert load_operators((), "cobol", FIX) == []


def test_what_a_name_means_is_the_same_in_each_language():
    for full in BUILTIN:
        language, _, name = full.partition(".")
        (one,) = load_operators([name], language, ["FixTests", "ImplementFeature"])
        entry = CATALOGUE[name]
        assert (one.id, one.tier, one.kind) == (full, entry.tier, entry.kind)
        assert one.languages == (language,)


def test_with_or_without_the_language():
    assert load_operators(["comparison", "python.comparison"], "python", FIX) == load_operators(
        ["comparison"], "python", FIX
    )


@pytest.mark.parametrize("name", ["mine:Mine", "mine:ready"])
def test_one_from_outside(plugin, name):
    (one,) = load_operators([name], "python", FIX)
    assert (one.id, one.version, kind_of(one)) == ("mine.swap", "3", "FixTests")


def test_a_name_that_is_not_there():
    with pytest.raises(NotFoundError, match=r"did you mean 'python\.comparison'"):
        load_operators(["python.comparisn"], "python", FIX)


def test_what_is_no_operator(plugin):
    with pytest.raises(UsageError, match="lacks id, version, languages, tier"):
        load_operators(["mine:nothing"], "python", FIX)


def test_one_for_another_language(plugin):
    with pytest.raises(UsageError, match="for rust, not for python"):
        load_operators(["mine:Foreign"], "python", FIX)


def test_one_of_another_kind():
    with pytest.raises(UsageError, match="ImplementFeature tasks; ask for them with --kind"):
        load_operators(["remove_body"], "python", FIX)
