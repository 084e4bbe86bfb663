"""JavaScript."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, signs, swaps, tables
from codegym.mutation.operators.queried import from_queries

DIALECT = Dialect(
    language="javascript",
    root="program",
    atoms=frozenset({
        "array", "call_expression", "false", "identifier", "member_expression", "null", "number",
        "parenthesized_expression", "string", "subscript_expression", "template_string", "this",
        "true", "undefined",
    }),
    # At the start of a statement these begin a block, a declaration, or go on with the line above.
    awkward=rb"\{|function\b|class\b|async\b|let\b",
    loops=frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"}),
    switches=frozenset({"switch_statement"}),
    leaving=frozenset({
        "return_statement", "throw_statement", "break_statement", "continue_statement",
    }),
    typed=False,
    stub=b'throw new Error("not implemented");',
    tables=tables(
        comparison={b"===": (b"!==",), b"!==": (b"===",)},
        equality=signs("""
            === ==
            !== !=
            == ===
            != !==
        """),
        assignment={
            b"&&=": (b"=", b"||="), b"||=": (b"=", b"&&="), b"??=": (b"=", b"||="),
            b">>>=": (b">>=",),
        },
        arithmetic={b"**": (b"*",), b">>>": (b">>",)},
        error=swaps("TypeError RangeError, Error TypeError, SyntaxError RangeError"),
        call=swaps(
            "push unshift, pop shift, indexOf lastIndexOf, find findLast, some every, "
            "startsWith endsWith, toLowerCase toUpperCase, trimStart trimEnd, padStart padEnd, "
            "min max, floor ceil, round trunc, keys values, map flatMap, "
            "setTimeout setImmediate, all race, add delete, has get, forEach map, "
            "getFullYear getYear, getDate getDay, replace replaceAll, parseInt parseFloat, "
            "encodeURIComponent encodeURI, isNaN isFinite, reduce reduceRight, then catch"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "ecmascript.scm", "javascript.scm")
