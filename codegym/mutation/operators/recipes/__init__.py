"""What patterns make of their matches, by name."""

from collections.abc import Callable, Iterator, Mapping

from codegym.mutation.operators.matches import Match
from codegym.mutation.operators.recipes.flow import append, at_once, loop_control, stub, zero
from codegym.mutation.operators.recipes.places import (
    arguments,
    cut,
    erase,
    erase_lines,
    item,
    remove,
    swap,
    unwrap,
    write,
)
from codegym.mutation.operators.recipes.values import exchange, number, one, other, shift, text
from codegym.syntax import Edit

Recipe = Callable[[Match, str], Iterator[Edit]]

RECIPES: Mapping[str, Recipe] = {
    "append": append,
    "arguments": arguments,
    "at_once": at_once,
    "cut": cut,
    "erase": erase,
    "erase_lines": erase_lines,
    "exchange": exchange,
    "item": item,
    "loop_control": loop_control,
    "number": number,
    "one": one,
    "other": other,
    "remove": remove,
    "shift": shift,
    "stub": stub,
    "swap": swap,
    "text": text,
    "unwrap": unwrap,
    "write": write,
    "zero": zero,
}
