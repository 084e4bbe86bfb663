"""Files that hold many edits: what is in them, and that they are programs still."""

import pytest

from codegym.mutation.candidates import Candidate, draw, find_candidates
from codegym.mutation.operators import load_operators
from codegym.mutation.switched.dialects import DIALECTS
from codegym.mutation.switched.weaving import weave
from codegym.syntax import Edit, parse

SOURCES = {
    "javascript": (
        "'use strict';\n// ünïcödé\nexport const half = (x) => x / 2;\n"
        "function total(xs) {\n  let sum = 0;\n  for (const x of xs) {\n    sum += x;\n  }\n"
        "  return sum;\n}\nclass Box {\n  constructor(n = 1 + 2) {\n    this.n = n;\n  }\n"
        "  async *pull(xs) {\n    for (const x of xs) {\n      yield x > 1 ? [x].map((y) => {\n"
        "        return y + 1;\n      }) : x;\n    }\n  }\n}\n"
        "function strict() {\n  'use strict';\n  return 1 + 1;\n}\n"
    ),
    "rust": (
        "//! ünïcödé\npub const fn two() -> i32 { 1 + 1 }\n"
        "pub fn total(xs: &[i32]) -> i32 {\n    let mut sum = 0;\n    for x in xs {\n"
        "        sum += x;\n    }\n    sum\n}\nimpl Box {\n    fn half(&self) -> Option<i32> {\n"
        "        let f = |x: i32| { x / 2 };\n        if self.0 > 1 { Some(f(self.0)) } "
        "else { None }\n"
        "    }\n}\npub struct Box(i32);\n"
    ),
    "c": (
        "/* ünïcödé */\n#include <stddef.h>\nstatic const int two = 1 + 1;\n"
        "int total(const int *xs, size_t n) {\n    int sum = 0;\n"
        "    for (size_t i = 0; i < n; i++) sum += xs[i];\n    return sum;\n}\n"
        "int jumps(int n) {\nagain:\n    if (n > 1) { n--; goto again; }\n    return n + 1;\n}\n"
    ),
}
PATHS = {"javascript": "src/a.mjs", "rust": "src/lib.rs", "c": "src/a.c"}


def candidates(language):
    files = {PATHS[language]: parse(SOURCES[language].encode(), language)}
    found = find_candidates(files, load_operators([], language, ("FixTests",)), 0)
    return dict(enumerate(draw(found, 0), start=1))


def woven(language, chosen):
    return weave(language, chosen, {PATHS[language]: SOURCES[language].encode()})


def test_there_is_a_source_of_each():
    assert DIALECTS.keys() == SOURCES.keys()


@pytest.mark.parametrize("language", sorted(SOURCES))
def test_woven_files_are_programs_that_hold_each_variant_where_they_say(language):
    chosen = candidates(language)
    made = woven(language, chosen)
    (path,) = made.files
    data = made.files[path]
    assert parse(data, language).is_clean
    assert len(made.functions) >= 15
    lines = data.split(b"\n")
    for number, first, last in made.arms[path]:
        variant = b"\n".join(lines[first - 1 : last])
        assert variant in chosen[number].mutant
        assert variant not in chosen[number].source.source
        assert made.at(path, first) >= {number}
    assert {number for number, *_ in made.arms[path]} == made.functions.keys()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("javascript", "x / 2"),
        ("javascript", "1 + 2"),
        ("javascript", "1 + 1"),
        ("rust", "1 + 1"),
        ("c", "1 + 1"),
        ("c", "n + 1"),
    ],
)
def test_what_no_switch_can_hold_is_left_out(language, text):
    for number, one in candidates(language).items():
        at = one.source.source.index(text.encode())
        inside = at <= one.edit.start and one.edit.end <= at + len(text)
        assert not inside or not woven(language, {number: one}).functions


def test_several_edits_of_one_candidate_are_chosen_together():
    parsed = parse(SOURCES["c"].encode(), "c")
    singles = [
        one for one in candidates("c").values() if woven("c", {1: one}).functions and not one.joined
    ]
    first = singles[0]
    apart = next(one for one in singles if one.edit.start >= first.edit.end + 5)
    both = Candidate.of(
        [*first.spots, *apart.spots], operator="x.pair", version="1", tier=2, order=2
    )
    (data,) = woven("c", {7: both}).files.values()
    body = both.mutant[parsed.source.index(b"{") :]
    assert data.count(b"case 7:\n") == 1
    assert body[: body.index(b"}\nint jumps") + 1] in data


def test_without_candidates_there_is_nothing():
    assert not woven("c", {}).files
    edit = Edit(0, 0, b"int x;\n")
    outside = candidates("c")[1]
    moved = Candidate(outside.path, outside.source, edit, "x", "1", 0, "FixTests", "")
    assert not woven("c", {1: moved}).functions
