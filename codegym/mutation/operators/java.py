"""Java."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, swaps, tables
from codegym.mutation.operators.queried import from_queries

DIALECT = Dialect(
    language="java",
    root="program",
    atoms=frozenset({
        "array_access", "character_literal", "decimal_floating_point_literal",
        "decimal_integer_literal", "false", "field_access", "hex_integer_literal", "identifier",
        "method_invocation", "null_literal", "object_creation_expression",
        "parenthesized_expression", "string_literal", "this", "true",
    }),
    loops=frozenset({
        "for_statement", "enhanced_for_statement", "while_statement", "do_statement",
    }),
    switches=frozenset({"switch_expression"}),
    leaving=frozenset({
        "return_statement", "throw_statement", "break_statement", "continue_statement",
        "yield_statement",
    }),
    returns="type",
    zeros=(
        (rb"byte|short|int|long|char|float|double", b"0"),
        (rb"boolean", b"false"),
        (rb"String", b'""'),
        (rb"List<.*", b"java.util.List.of()"),
        (rb"Set<.*", b"java.util.Set.of()"),
        (rb"Map<.*", b"java.util.Map.of()"),
        (rb"Optional<.*", b"java.util.Optional.empty()"),
        (rb"void", b""),
        (rb".*", b"null"),
    ),
    stub=b'throw new UnsupportedOperationException("not implemented");',
    tables=tables(
        arithmetic={b">>>": (b">>",)},
        assignment={b">>>=": (b">>=",)},
        error=swaps(
            "IllegalArgumentException IllegalStateException, "
            "IndexOutOfBoundsException NoSuchElementException, "
            "NullPointerException IllegalArgumentException, "
            "UnsupportedOperationException IllegalStateException, "
            "RuntimeException IllegalStateException, ArithmeticException NumberFormatException, "
            "ClassCastException IllegalArgumentException"
        ),
        call=swaps(
            "indexOf lastIndexOf, startsWith endsWith, toLowerCase toUpperCase, min max, "
            "floor ceil, first last, getFirst getLast, addFirst addLast, removeFirst removeLast, "
            "peekFirst peekLast, pollFirst pollLast, anyMatch allMatch, noneMatch anyMatch, "
            "findFirst findAny, keySet values, isPresent isEmpty, before after, isBefore isAfter, "
            "plusDays minusDays, plus minus, higher lower, "
            "headMap tailMap, headSet tailSet, containsKey containsValue, equals equalsIgnoreCase, "
            "trim strip, stripLeading stripTrailing, put putIfAbsent, poll peek, push addLast, "
            "addExact subtractExact, getKey getValue, lock unlock, skip limit, "
            "takeWhile dropWhile, isLetter isLetterOrDigit, isUpperCase isLowerCase, "
            "getDayOfMonth getDayOfYear, compareTo compareToIgnoreCase, "
            "notify notifyAll, incrementAndGet getAndIncrement, "
            "incrementAndGet decrementAndGet"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "java.scm")
