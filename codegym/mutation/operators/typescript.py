"""TypeScript: what JavaScript has, where types are written differently."""

from __future__ import annotations

from dataclasses import replace

from codegym.mutation.operators.javascript import DIALECT as JAVASCRIPT
from codegym.mutation.operators.queried import from_queries

DIALECT = replace(
    JAVASCRIPT,
    language="typescript",
    atoms=JAVASCRIPT.atoms | {"non_null_expression"},
    typed=True,
    returns="return_type",
    zeros=(
        (rb":\s*(?:Promise<)?number>?", b"0"),
        (rb":\s*(?:Promise<)?string>?", b'""'),
        (rb":\s*(?:Promise<)?boolean>?", b"false"),
        (rb":\s*(?:Promise<)?(?:readonly )?(?:[^|]*\[\]|Array<.*>)>?", b"[]"),
        (rb":.*\bundefined\b.*", b"undefined"),
        (rb":.*\bnull\b.*", b"null"),
        (rb":\s*Map<.*", b"new Map()"),
        (rb":\s*Set<.*", b"new Set()"),
    ),
)

OPERATORS = from_queries(DIALECT, "ecmascript.scm", "typescript.scm")
