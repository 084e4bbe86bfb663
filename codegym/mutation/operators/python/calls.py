"""Operators on calls and their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from tree_sitter import Node

from codegym.mutation.operators.base import python
from codegym.mutation.operators.python.nodes import (
    arguments,
    callee,
    grouped,
    replaced,
    swapped,
    text,
)
from codegym.syntax import Edit

#: Calls where another argument only stops the program at once, or changes nothing that matters.
_LEFT_ALONE = frozenset({
    b"isinstance", b"issubclass", b"getattr", b"setattr", b"hasattr", b"super", b"print", b"warn",
    b"debug", b"info", b"warning", b"error", b"exception", b"cast", b"TypeVar", b"namedtuple",
})  # fmt: skip
#: Functions of one argument whose result is much like it.
_WRAPPERS = frozenset({
    b"abs", b"dict", b"float", b"frozenset", b"int", b"iter", b"list", b"reversed", b"round",
    b"set", b"sorted", b"str", b"tuple", b"deepcopy", b"copy",
})  # fmt: skip
#: Methods without arguments whose result is much like what they are called on.
_REFINING = frozenset({
    b"copy", b"lower", b"upper", b"strip", b"lstrip", b"rstrip", b"casefold", b"title", b"items",
    b"keys", b"values",
})  # fmt: skip

_NAMED = frozenset({"keyword_argument", "list_splat", "dictionary_splat"})


@python("swapped_arguments", "call", tier=2)
def swapped_arguments(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``f(a, b)`` becomes ``f(b, a)``."""
    if callee(node, source) in _LEFT_ALONE:
        return
    positional = [one for one in arguments(node) if one.type not in _NAMED]
    for first, second in pairwise(positional):
        if text(first, source) != text(second, source):
            yield swapped(first, second, source)


@python("dropped_argument", "call", tier=2)
def dropped_argument(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``f(a, b=c)`` becomes ``f(a)``; of arguments by position, only the last goes."""
    given = arguments(node)
    if callee(node, source) in _LEFT_ALONE or not given:
        return
    by_name = [one for one in given if one.type == "keyword_argument"]
    last = given[-1:] if len(given) > 1 and not by_name else []
    for one in (*by_name, *last):
        at = given.index(one)
        if at > 0:
            yield Edit(given[at - 1].end_byte, one.end_byte, b"")
        else:
            end = given[1].start_byte if len(given) > 1 else one.end_byte
            yield Edit(one.start_byte, end, b"")


@python("removed_call", "call", tier=2)
def removed_call(node: Node, source: bytes, _: np.random.Generator) -> Iterator[Edit]:
    """``sorted(a)`` becomes ``a``, and so does ``a.strip()``."""
    function = node.child_by_field_name("function")
    given = arguments(node)
    if function is None or (node.parent is not None and node.parent.type == "expression_statement"):
        return
    name = callee(node, source)
    if function.type == "attribute" and not given and name in _REFINING:
        listed = node.child_by_field_name("arguments")
        owner = function.child_by_field_name("object")
        if owner is not None and listed is not None and listed.type == "argument_list":
            yield replaced(node, text(owner, source))
    elif function.type == "identifier" and name in _WRAPPERS and given:
        first = given[0]
        if first.type not in _NAMED:
            yield replaced(node, grouped(first, source))
