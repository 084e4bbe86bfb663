"""What a statement asserts: bare assertions, unittest's methods, and what a block has to raise."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codegym.grading.observe.kinds import Names
from codegym.grading.observe.sites import Form, Option

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
SWAPPED = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "in": "contains",
    "not in": "not contains",
    "is": "is",
    "is not": "is not",
    "count_equal": "count_equal",
    "almost": "almost",
    "not almost": "not almost",
}
_METHODS = {
    "assertEqual": "==",
    "assertEquals": "==",
    "assertListEqual": "==",
    "assertDictEqual": "==",
    "assertTupleEqual": "==",
    "assertSetEqual": "==",
    "assertSequenceEqual": "==",
    "assertMultiLineEqual": "==",
    "assertNotEqual": "!=",
    "assertIs": "is",
    "assertIsNot": "is not",
    "assertIn": "in",
    "assertNotIn": "not in",
    "assertIsInstance": "isinstance",
    "assertNotIsInstance": "not isinstance",
    "assertAlmostEqual": "almost",
    "assertNotAlmostEqual": "not almost",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
    "assertLess": "<",
    "assertLessEqual": "<=",
    "assertRegex": "regex",
    "assertNotRegex": "not regex",
    "assertCountEqual": "count_equal",
}
_UNARY = {"assertIsNone": "is", "assertIsNotNone": "is not"}
_TRUTH = {"assertTrue": "true", "assertFalse": "false"}


@dataclass(frozen=True)
class Claim:
    """One thing that is asserted.

    Attributes:
        whole: The part of the assertion that this claim is, for messages.
        left: The value, or the left one of two.
        right: The other value; None where there is none, or it is None and not written.
    """

    form: Form
    op: str
    whole: ast.expr
    left: ast.expr
    right: ast.expr | None = None
    options: tuple[tuple[str, Option], ...] = ()
    none_unwritten: bool = False


@dataclass(frozen=True)
class Raising:
    """What a block, or one call, has to raise.

    Attributes:
        call: ``pytest.raises(…)`` or ``self.assertRaises(…)``.
        exception: What is raised.
        match: What its text has to match, or None.
        function: Of the form that makes the call itself: what is called; else None.
        arguments: How many arguments come before the function.
    """

    call: ast.Call
    exception: ast.expr
    match: ast.expr | None = None
    function: ast.expr | None = None
    arguments: int = 1


@dataclass(frozen=True)
class Assertion:
    """A statement whose whole business is to assert.

    Attributes:
        parts: What is joined with ``and``, in order: a claim, or an expression that is no claim.
        message: What is said when it fails, or None.
    """

    statement: ast.stmt
    parts: tuple[Claim | ast.expr, ...]
    message: ast.expr | None = None

    @property
    def claims(self) -> list[Claim]:
        """Those of the parts that can be observed."""
        return [part for part in self.parts if isinstance(part, Claim)]


def assertion(statement: ast.stmt) -> Assertion | None:
    """What a statement asserts, or None where that is nothing, or nothing we can read."""
    unreadable = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    if not isinstance(statement, ast.Assert | ast.Expr) or any(
        isinstance(part, unreadable) for part in ast.walk(statement)
    ):
        return None
    if isinstance(statement, ast.Assert):
        return Assertion(statement, _conjuncts(statement.test), statement.msg)
    call = statement.value
    name = method(call)
    if not isinstance(call, ast.Call) or name is None:
        return None
    message = next((word.value for word in call.keywords if word.arg == "msg"), None)
    extra = [word for word in call.keywords if word.arg != "msg"]
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if name == "assertTrue" and not extra and len(call.args) in {1, 2}:
        return Assertion(statement, _conjuncts(call.args[0]), message or _at(call.args, 1))
    found = _unittest(name, call, extra)
    if found is None:
        return None
    positions = 2 if found.right is not None else 1
    return Assertion(statement, (found,), message or _at(call.args, positions))


def raising(call: ast.expr, names: Names) -> Raising | None:
    """What a call says has to be raised, or None."""
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args[:3]):
        return None
    name, ours = method(call), names.dotted(call.func) == "pytest.raises"
    if not ours and name not in {"assertRaises", "assertRaisesRegex"}:
        return None
    before = 2 if name == "assertRaisesRegex" else 1
    exception, rest = call.args[0], call.args[before:]
    match = _at(call.args, 1) if before == 2 else None
    if rest:
        return Raising(call, exception, match, rest[0], before)
    for word in call.keywords:
        if word.arg == "match" and ours:
            match = word.value
        elif word.arg != "msg":
            return None
    if before == 2 and match is None:
        return None
    return Raising(call, exception, match)


def method(call: ast.expr) -> str | None:
    """The name of the method of ``self`` that is called, or None."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if isinstance(owner, ast.Name) and owner.id == "self":
            return call.func.attr
    return None


def _conjuncts(test: ast.expr) -> tuple[Claim | ast.expr, ...]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return tuple(part for value in test.values for part in _conjuncts(value))
    return (_claim(test),)


def _claim(test: ast.expr) -> Claim | ast.expr:
    """Read one expression that has to be true."""
    inner, positive = test, True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner, positive = test.operand, False
    if isinstance(inner, ast.Call) and _plain_isinstance(inner):
        op = "isinstance" if positive else "not isinstance"
        return Claim("compare", op, test, inner.args[0], inner.args[1])
    if isinstance(inner, ast.Compare) and positive:
        if len(inner.ops) > 1:
            return test
        op = _COMPARISONS[type(inner.ops[0])]
        return Claim("compare", op, test, inner.left, inner.comparators[0])
    return Claim("truth", "true" if positive else "false", test, inner)


def _plain_isinstance(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Name)
        and call.func.id == "isinstance"
        and len(call.args) == 2
        and not call.keywords
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
    )


def _unittest(name: str, call: ast.Call, extra: list[ast.keyword]) -> Claim | None:
    arguments = call.args
    if name in _UNARY and len(arguments) in {1, 2} and not extra:
        return Claim("compare", _UNARY[name], call, arguments[0], none_unwritten=True)
    if name in _TRUTH and len(arguments) in {1, 2} and not extra:
        return Claim("truth", _TRUTH[name], call, arguments[0])
    if name not in _METHODS or len(arguments) < 2:
        return None
    op = _METHODS[name]
    if op in {"almost", "not almost"}:
        options = _tolerance(arguments[2:], extra)
        if options is None:
            return None
        return Claim("compare", op, call, arguments[0], arguments[1], options)
    if extra or len(arguments) > 3:
        return None
    return Claim("compare", op, call, arguments[0], arguments[1])


def _tolerance(
    positional: list[ast.expr], extra: list[ast.keyword]
) -> tuple[tuple[str, Option], ...] | None:
    """``places`` or ``delta``, where they are written as numbers."""
    given: dict[str, ast.expr] = dict(zip(("places",), positional, strict=False))
    given |= {word.arg: word.value for word in extra if word.arg}
    if len(positional) > 1 or not set(given) <= {"places", "delta"}:
        return None
    if not given:
        return (("places", 7),)
    options: list[tuple[str, Option]] = []
    for name, value in given.items():
        if not isinstance(value, ast.Constant) or not isinstance(value.value, int | float):
            return None
        options.append((name, value.value))
    return tuple(options)


def _at(nodes: list[ast.expr], index: int) -> ast.expr | None:
    return nodes[index] if len(nodes) > index else None
