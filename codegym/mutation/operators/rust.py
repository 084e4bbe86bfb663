"""Rust."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, signs, swaps, tables
from codegym.mutation.operators.queried import from_queries

DIALECT = Dialect(
    language="rust",
    root="source_file",
    atoms=frozenset({
        "array_expression", "await_expression", "boolean_literal", "call_expression",
        "char_literal", "field_expression", "float_literal", "generic_function", "identifier",
        "index_expression", "integer_literal", "macro_invocation", "parenthesized_expression",
        "scoped_identifier", "self", "string_literal", "try_expression", "tuple_expression",
    }),
    loops=frozenset({"for_expression", "while_expression", "loop_expression"}),
    switches=frozenset(),
    leaving=frozenset({"return_expression", "break_expression", "continue_expression"}),
    empty=b"",
    returns="return_type",
    zeros=(
        (rb"[ui](8|16|32|64|128|size)", b"0"),
        (rb"f(32|64)", b"0.0"),
        (rb"bool", b"false"),
        (rb"&(?:'\w+ )?str", b'""'),
        (rb"String", b"String::new()"),
        (rb"Option<.*", b"None"),
        (rb"(?:Vec|HashMap|HashSet|BTreeMap|BTreeSet|VecDeque|Box|Rc|Arc)<.*",
         b"Default::default()"),
        (rb"(?:\w+::)*Result<.*", b"Ok(Default::default())"),
    ),
    stub=b"todo!()",
    tables=tables(
        range=signs("""
            ..  ..=
            ..= ..
        """),
        call=swaps(
            "min max, first last, push_back push_front, "
            "pop_back pop_front, any all, starts_with ends_with, trim_start trim_end, "
            "floor ceil, round trunc, is_some is_none, is_ok is_err, "
            "to_lowercase to_uppercase, to_ascii_lowercase to_ascii_uppercase, find rfind, "
            "split_once rsplit_once, lines split_whitespace, keys values, "
            "skip take, skip_while take_while, strip_prefix strip_suffix, min_by max_by, "
            "min_by_key max_by_key, wrapping_add saturating_add, wrapping_sub saturating_sub, "
            "wrapping_mul saturating_mul, checked_add checked_sub, "
            "or and, or_else and_then, sum product, "
            "is_alphabetic is_alphanumeric, is_uppercase is_lowercase, "
            "is_lt is_le, is_gt is_ge, leading_zeros trailing_zeros, sort sort_unstable, "
            "div_euclid rem_euclid, abs signum, "
            "count_ones count_zeros, rotate_left rotate_right, "
            "to_le_bytes to_be_bytes"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "rust.scm")
