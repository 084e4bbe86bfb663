"""Go."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, swaps, tables
from codegym.mutation.operators.queried import from_queries

DIALECT = Dialect(
    language="go",
    root="source_file",
    atoms=frozenset({
        "call_expression", "false", "float_literal", "identifier", "index_expression",
        "int_literal", "interpreted_string_literal", "nil", "parenthesized_expression",
        "raw_string_literal", "rune_literal", "selector_expression", "slice_expression", "true",
    }),
    loops=frozenset({"for_statement"}),
    switches=frozenset({
        "expression_switch_statement", "type_switch_statement", "select_statement",
    }),
    leaving=frozenset({
        "return_statement", "break_statement", "continue_statement", "goto_statement",
    }),
    empty=b"",
    returns="result",
    zeros=(
        (rb"u?int\d*|uintptr|byte|rune", b"0"),
        (rb"float\d+", b"0"),
        (rb"string", b'""'),
        (rb"bool", b"false"),
        (rb"error|any|interface\{\}|[*\[].*|map\[.*|chan .*|func\(.*", b"nil"),
    ),
    stub=b'panic("not implemented")',
    tables=tables(
        arithmetic={b"&^": (b"&",)},
        assignment={b"&^=": (b"&=",)},
        call=swaps(
            "HasPrefix HasSuffix, TrimPrefix TrimSuffix, TrimLeft TrimRight, ToUpper ToLower, "
            "Index LastIndex, Min Max, Floor Ceil, Before After, "
            "Contains ContainsAny, EqualFold Contains, Sprint Sprintln, min max, Year YearDay, "
            "Round Trunc, Sin Cos, IndexByte LastIndexByte, PushBack PushFront, "
            "Front Back, Next Prev, Signal Broadcast, "
            "IsUpper IsLower, IsDigit IsNumber, SplitN SplitAfterN"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "go.scm")
