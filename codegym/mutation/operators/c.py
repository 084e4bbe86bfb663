"""C."""

from __future__ import annotations

from codegym.mutation.operators.dialect import Dialect, swaps, tables
from codegym.mutation.operators.queried import from_queries

_NUMBER = (
    rb"(?:(?:unsigned|signed|long|short|int|char|float|double|size_t|ssize_t|bool|_Bool|u?int\d+_t"
    rb"|ptrdiff_t|u?intptr_t)\s*)+"
)

DIALECT = Dialect(
    language="c",
    root="translation_unit",
    atoms=frozenset({
        "call_expression", "char_literal", "false", "field_expression", "identifier", "null",
        "number_literal", "parenthesized_expression", "string_literal", "subscript_expression",
        "true",
    }),
    loops=frozenset({"for_statement", "while_statement", "do_statement"}),
    switches=frozenset({"switch_statement"}),
    leaving=frozenset({
        "return_statement", "break_statement", "continue_statement", "goto_statement",
    }),
    returns="type",
    zeros=(
        (rb".*\*", b"0"),
        (_NUMBER, b"0"),
    ),
    stub=b"return {zero};",
    tables=tables(
        call=swaps(
            "strchr strrchr, strcmp strcasecmp, memcpy memmove, tolower toupper, islower isupper, "
            "isalpha isalnum, isdigit isxdigit, fmin fmax, floor ceil, round trunc, min max, "
            "MIN MAX, strcpy strcat, strncpy strncat, strspn strcspn, sin cos, fabs sqrt, "
            "isspace isblank, isprint isgraph, strtol strtoul, htons htonl, ntohs ntohl, "
            "strstr strcasestr, fgetc ungetc, memchr memrchr, "
            "pthread_mutex_lock pthread_mutex_unlock, atoi atol"
        ),
    ),
)  # fmt: skip

OPERATORS = from_queries(DIALECT, "c.scm")
