"""Functions that can stand for one another where a test gives one to code under test."""

from __future__ import annotations

import ast

from codegym.grading.observe.analysis import Analysis, Function

#: Builtins that take the same, and give the same kind of thing.
_ALIKE = (
    {"sum", "max", "min", "len"},
    {"str", "repr", "ascii"},
    {"hex", "oct", "bin"},
    {"abs", "int", "round"},
    {"list", "sorted"},
    {"any", "all"},
)


def peers(name: str, analysis: Analysis, function: Function) -> tuple[str, ...]:
    """Names that can be in the place of a function's name; none where it is not one's.

    Args:
        name: Looked up in the test.
        analysis: Of its module: its own functions are known by how many arguments they take.
        function: The test.
    """
    if function.names.builtin(name):
        return tuple(sorted(next((each - {name} for each in _ALIKE if name in each), ())))
    known = {**_functions(analysis.source.tree), **_functions(function.node)}
    if name not in known:
        return ()
    free = set(known) - {name} - _tests(analysis)
    return tuple(sorted(one for one in free if known[one] == known[name]))


def _functions(scope: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, int]:
    """How many arguments the functions of a scope take, of those that take so many."""
    return {
        part.name: len(part.args.posonlyargs) + len(part.args.args)
        for part in scope.body
        if isinstance(part, ast.FunctionDef)
        and not (part.decorator_list or part.args.defaults)
        and not (part.args.vararg or part.args.kwarg or part.args.kwonlyargs)
    }


def _tests(analysis: Analysis) -> set[str]:
    return {part.node.name for part in analysis.functions if part.is_test}
