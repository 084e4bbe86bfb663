"""Operators for Python that are written as queries; the others need more than a pattern."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, swaps, tables
from codegym.mutation.operators.queried import from_queries

DIALECT = Dialect(
    language="python",
    root="module",
    atoms=frozenset({
        "attribute", "call", "dictionary", "false", "float", "identifier", "integer", "list",
        "list_comprehension", "none", "parenthesized_expression", "set", "string", "subscript",
        "true", "tuple",
    }),
    loops=frozenset({"for_statement", "while_statement"}),
    switches=frozenset(),
    leaving=frozenset({
        "return_statement", "raise_statement", "break_statement", "continue_statement",
    }),
    empty=b"pass",
    hollow=False,
    stub=b"raise NotImplementedError",
    tables=tables(
        call=swaps(
            "min max, any all, startswith endswith, lstrip rstrip, removeprefix removesuffix, "
            "upper lower, find rfind, index rindex, split rsplit, partition rpartition, "
            "ljust rjust, keys values, floor ceil, popleft pop, appendleft append, extend append, "
            "union intersection, issubset issuperset, isdigit isalpha, islower isupper, "
            "bisect_left bisect_right, insort_left insort_right, nlargest nsmallest, "
            "difference symmetric_difference, fullmatch match, match search, add discard, "
            "takewhile dropwhile, isoweekday weekday, date time, copy deepcopy, "
            "zip zip_longest, is_file is_dir, seconds total_seconds, setdefault get"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "python.scm")
