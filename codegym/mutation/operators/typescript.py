"""TypeScript: what JavaScript has, where types are written differently."""

from __future__ import annotations

from dataclasses import replace

from codegym.mutation.operators.javascript import DIALECT as JAVASCRIPT
from codegym.mutation.operators.queried import from_queries

DIALECT = replace(
    JAVASCRIPT,
    language="typescript",
    atoms=JAVASCRIPT.atoms | {"non_null_expression"},
)

OPERATORS = from_queries(DIALECT, "ecmascript.scm", "typescript.scm")
