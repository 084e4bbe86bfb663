"""Which functions are those of the code under test, and not of the tests or of the language."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from tree_sitter import Node

from codegym.syntax import Parsed, ancestors, descendants, grammar, language_of, parse, walk
from codegym.types import Tree
from codegym.workspace.hiding import is_test_file

_CALLS = ("call", "call_expression", "method_invocation")
#: What these make is not what a function inside them gives.
_OPERATORS = frozenset({
    "binary_operator", "unary_operator", "binary_expression", "unary_expression",
    "conditional_expression",
})  # fmt: skip
#: What these say is of what is inside.
_CONDITIONS = frozenset({"boolean_operator", "comparison_operator", "not_operator"})
_BUILTIN = frozenset(dir(builtins))
#: Their result may be that of a method of what they are given.
_SHOWS = {"str": ("__str__", "__repr__"), "repr": ("__repr__",), "format": ("__format__",)}
#: Of tests, wherever they are defined.
_TOOLS = re.compile(r"(?i)(assert|expect|should|raises)\w*")


class Tested:
    """What a tree's sources define, as a test calls it."""

    def __init__(self, tree: Tree, test: Parsed) -> None:
        """For the calls of a test's module."""
        self._tree, self._test = tree, test

    def subject(self, node: Node) -> str:
        """The one function whose result an expression is, or ``""``: ``find`` of ``len(find(x))``.

        What wraps it may be the language's own, or the tests'.
        """
        found = set(self._outermost(node, wrapped=False))
        return found.pop() if len(found) == 1 else ""

    def _outermost(self, node: Node, *, wrapped: bool) -> Iterator[str]:
        if node.type in _OPERATORS:
            return
        if node.type in _CALLS:
            name = self._name(node)
            if name and not (wrapped and name[0].isupper()):  # an object that something is asked of
                yield name
                return
            wrapped = True
            called = node.child_by_field_name("function")
            shown_by = _SHOWS.get("" if called is None else self._text(called), ())
            if any(self._defined(method, methods=True) for method in shown_by):
                return
        wrapped = wrapped or node.type in _CONDITIONS
        for child in node.named_children:
            yield from self._outermost(child, wrapped=wrapped)

    def _name(self, call: Node) -> str:
        """The name that is called, if the sources define it, else ``""``."""
        called = call.child_by_field_name("function") or call.child_by_field_name("name")
        if called is None:
            return ""
        text = self._text(called)
        name = re.split(r"[.:]", text)[-1]
        on = text[: -len(name)].rstrip(".:") if call.type != "method_invocation" else "."
        if not re.fullmatch(r"\w+", name) or _TOOLS.fullmatch(name):
            return ""
        if self._test.language != "python":
            return name if self._defined(name, methods=False) else ""
        imported = re.match(r"\w*", on or name)
        is_imported = imported is not None and bool({imported[0], "*"} & self._imported)
        if not on and (name in _BUILTIN or not is_imported):
            return ""
        if on[:1] in "\"'[{" and on:
            return ""
        return name if self._defined(name, methods=bool(on) and not is_imported) else ""

    def _text(self, node: Node) -> str:
        return self._test.text(node).decode(errors="replace")

    def _defined(self, name: str, *, methods: bool) -> bool:
        """Whether a source that is no test defines a function or a class, or a method."""
        language, word = self._test.language, name.encode()
        return any(
            name in _definitions(file.data, language)[methods]
            for path, file in self._tree.items()
            if language_of(path) == language and word in file.data and not is_test_file(path)
        )

    @cached_property
    def _imported(self) -> frozenset[str]:
        """The names that a module of Python imports; ``*`` for those that it does not list."""
        found = set[str]()
        for node in descendants(self._test.root, "import_statement", "import_from_statement"):
            found.update("*" for _ in descendants(node, "wildcard_import"))
            for named in node.children_by_field_name("name"):
                alias = named.child_by_field_name("alias")
                found.add(self._text(named if alias is None else alias).partition(".")[0])
        return frozenset(found)


@lru_cache(maxsize=1024)
def _definitions(data: bytes, language: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of functions and classes that a source defines; those of methods alone."""
    parsed, kinds = parse(data, language), grammar(language)
    every, methods = set[str](), set[str]()
    for node in walk(parsed.root):
        named = node.child_by_field_name("name")
        if node.type not in kinds.functions | kinds.classes or named is None:
            continue
        name = parsed.text(named).decode(errors="replace")
        every.add(name)
        around = next((one for one in ancestors(node) if one.type in kinds.functions), None)
        inner = next((one for one in ancestors(node) if one.type in kinds.classes), None)
        if inner is not None and (around is None or around.start_byte < inner.start_byte):
            methods.add(name)
    return frozenset(every), frozenset(methods)
