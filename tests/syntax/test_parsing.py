"""Parsing: in bytes whatever the letters, and the same after edits as from the start."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import NotFoundError, UnavailableError
from codegym.syntax import (
    GRAMMARS,
    Edit,
    function_at,
    grammar,
    language_of,
    parse,
    qualified_name,
    reparse,
    statement_at,
    walk,
)
from codegym.syntax.languages import load_language

SOURCE = '''\
"""Größe — ein Maß. 日本語"""


class Laden:
    ПРЕДЕЛ = 10  # предел

    def größe(self, wert):
        if wert > self.ПРЕДЕЛ:
            raise ValueError("zu groß: 🦆")
        return [w for w in wert if w]

    class Kasse:
        @property
        async def summe(self):
            return 1
'''.encode()
PIECES = [b"", b" ", b"\n", b"x", "é🦆".encode(), b"(", b"):", b"    return 1\n", b"\xff", b'"""']


def shape(parsed):
    return [(node.type, node.start_byte, node.end_byte) for node in walk(parsed.root)]


@given(st.integers(0, len(SOURCE)), st.integers(0, 12), st.sampled_from(PIECES))
def test_parsing_again_after_an_edit_is_parsing_anew(start, length, replacement):
    parsed = parse(SOURCE, "python")
    before = shape(parsed)
    edit = Edit(start, min(len(SOURCE), start + length), replacement)
    again = reparse(parsed, [edit])
    fresh = parse(again.source, "python")
    assert again.is_clean == fresh.is_clean
    if fresh.is_clean:
        assert shape(again) == shape(fresh)
    assert shape(parsed) == before


def test_several_edits_at_once():
    parsed = parse(b"a = 1\nb = 2\n", "python")
    again = reparse(parsed, [Edit(4, 5, b"'\xc3\xa9'"), Edit(10, 11, b"[3,\n 4]")])
    assert again.source == "a = 'é'\nb = [3,\n 4]\n".encode()
    assert shape(again) == shape(parse(again.source, "python"))


@pytest.mark.parametrize("source", [b"def f(:\n", b"x = (1\n", b"print 'a'\n\xff\xfe(", b"\x00"])
def test_what_is_no_program_is_seen(source):
    assert not parse(source, "python").is_clean


def test_text_of_a_node_is_its_bytes():
    parsed = parse(SOURCE, "python")
    names = {parsed.text(node) for node in walk(parsed.root) if node.type == "identifier"}
    assert {"größe".encode(), "ПРЕДЕЛ".encode(), b"wert"} <= names


def test_names_of_places():
    parsed = parse(SOURCE, "python")
    at = SOURCE.index(b"raise")
    function = function_at(parsed, at, at + 5)
    assert qualified_name(parsed, function) == "Laden.größe"
    assert parsed.text(statement_at(parsed, at + 7, at + 9)).startswith(b"raise ValueError")
    deep = SOURCE.index(b"return 1")
    assert qualified_name(parsed, function_at(parsed, deep, deep)) == "Laden.Kasse.summe"
    assert function_at(parsed, 0, 5) is None
    assert qualified_name(parsed, parsed.root) == ""


def test_skipped_types_are_not_entered():
    parsed = parse(b"def f(a: list[int]) -> None:\n    import os\n    return a\n", "python")
    seen = {node.type for node in walk(parsed.root, frozenset({"type", "import_statement"}))}
    assert "type" not in seen
    assert "dotted_name" not in seen
    assert "return_statement" in seen


def test_a_language_that_is_not_there():
    with pytest.raises(NotFoundError, match="did you mean 'python'"):
        parse(b"", "pyton")


@pytest.mark.parametrize("language", ["python", "typescript", "go"])
def test_a_grammar_that_is_not_installed(monkeypatch, language):
    monkeypatch.setitem(sys.modules, f"tree_sitter_{language}", None)
    load_language.cache_clear()
    try:
        with pytest.raises(
            UnavailableError, match=rf"tree-sitter-{language}.*codegym\[langs\]"
        ) as told:
            parse(b"", language)
        assert "\n" not in str(told.value)
    finally:
        load_language.cache_clear()


NAMES = [
    ("javascript", "class A { größe() { at; } }", "A.größe"),
    ("javascript", "const é = { f: () => at };", "f"),
    ("typescript", "const f = async (a: B): Promise<C> => { at; };", "f"),
    ("go", "package p\nfunc (s *S) Größe() { at() }", "Größe"),
    ("rust", "impl A for B { fn größe() { at(); } }", "B.größe"),
    ("java", "class A { int größe() { return at; } }", "A.größe"),
    ("c", "static char **größe(int a) { at(); }", "größe"),
]


@pytest.mark.parametrize(("language", "text", "name"), NAMES)
def test_names_of_places_in_each_language(language, text, name):
    parsed = parse(text.encode(), language)
    assert parsed.is_clean
    at = parsed.source.index(b"at")
    assert qualified_name(parsed, function_at(parsed, at, at + 2)) == name


@pytest.mark.parametrize("language", list(GRAMMARS))
def test_each_grammar_knows_the_types_that_are_named(language):
    known, types = grammar(language), load_language(language)
    named = known.functions | known.classes | known.blocks | known.inert
    assert [one for one in sorted(named) if types.id_for_node_kind(one, True) is None] == []
    assert all(language_of(f"a/b{suffix}") == language for suffix in known.suffixes)
