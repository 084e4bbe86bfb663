"""The kinds of single edits: one name, one meaning, in whichever languages have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegym.types import Kind


@dataclass(frozen=True, slots=True)
class Entry:
    """What an operator's name stands for.

    Attributes:
        tier: How hard its faults are thought to be to find, from 1 (easy) to 5.
        says: What it does, in a sentence.
        kind: The kind of task that it makes.
    """

    tier: int
    says: str
    kind: Kind = "FixTests"


CATALOGUE: Mapping[str, Entry] = {
    "arithmetic": Entry(1, "`a + b` becomes `a - b`; text that is joined stays."),
    "assigned_condition": Entry(2, "`if (a == b)` becomes `if (a = b)`."),
    "augmented_assignment": Entry(1, "`a += b` becomes `a -= b` or `a = b`; `a++` becomes `a--`."),
    "boolean": Entry(1, "`a && b` becomes `a || b`, and the other way."),
    "changed_constant": Entry(1, "A number becomes one more or less, `true` becomes `false`."),
    "changed_default": Entry(2, "A parameter's default is another."),
    "changed_text": Entry(1, "Text that is no message loses its last letter, or changes its case."),
    "comparison": Entry(1, "`a < b` becomes `a <= b`, or the opposite of what it was."),
    "default_return": Entry(2, "What is returned says nothing: 0, false, an empty list."),
    "dropped_argument": Entry(2, "`f(a, b)` becomes `f(a)`, where another number is allowed."),
    "dropped_case": Entry(3, "A case of a choice is forgotten, or two change places."),
    "dropped_filter": Entry(2, "What narrows or orders a sequence is left out."),
    "dropped_operand": Entry(2, "`a && b` becomes `a`, or `b`."),
    "early_return": Entry(3, "The result is returned before it is complete."),
    "exception_handling": Entry(3, "An error is swallowed, taken for another, or not handled."),
    "loop_control": Entry(2, "`break` becomes `continue`, the other way, or is forgotten."),
    "loose_equality": Entry(2, "`a === b` becomes `a == b`, and the other way."),
    "narrowed_type": Entry(3, "A number goes through a type that is too small for it."),
    "negated_condition": Entry(2, "`if (a)` becomes `if (!a)`."),
    "null_handling": Entry(3, "The case that there is no value is not seen to."),
    "off_by_one": Entry(2, "An end of a range, or a place in a sequence, is one too far."),
    "pointer_size": Entry(3, "The size of a pointer is taken for that of what it points to."),
    "reference_equality": Entry(3, "`a.equals(b)` becomes `a == b`, and the other way."),
    "remove_body": Entry(5, "A function keeps its signature; what it did is gone.",
                         "ImplementFeature"),
    "removed_call": Entry(2, "`f(a)` becomes `a`, where the two are alike."),
    "removed_copy": Entry(3, "What was copied is shared."),
    "removed_guard": Entry(3, "`if (a) return b` goes."),
    "removed_modifier": Entry(3, "`extends`, `static`, `synchronized` or the like is left out."),
    "removed_sign": Entry(1, "`!a`, `-a`, `~a` and `await a` become `a`."),
    "removed_statement": Entry(2, "A call, or an assignment to what has a value already, goes."),
    "removed_wrapper": Entry(3, "What was done if, or while, something held is just done."),
    "reordered_statements": Entry(3, "Two statements change places; one of them needs the other."),
    "resource_handling": Entry(3, "A lock, a deferred call or a task of its own is left out."),
    "shadowed_variable": Entry(3, "A variable is declared anew where the outer one was to be set."),
    "swapped_arguments": Entry(2, "`f(a, b)` becomes `f(b, a)`."),
    "swapped_branches": Entry(2, "What `if` and `else` do changes places."),
    "swapped_operands": Entry(2, "`a - b` becomes `b - a`."),
    "value_receiver": Entry(4, "A method works on a copy of what it is called on."),
    "wrong_attribute": Entry(3, "A field that is read becomes another of the same thing."),
    "wrong_call": Entry(2, "A function is taken for its sibling: first for last, floor for ceil."),
    "wrong_iteration": Entry(3, "`for (a of b)` becomes `for (a in b)`."),
    "wrong_scope": Entry(3, "A loop's variable is shared by all of its rounds."),
    "wrong_variable": Entry(3, "A variable that is read becomes another one that is set by then."),
}  # fmt: skip
