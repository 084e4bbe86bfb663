"""What falls before anything is run."""

from dataclasses import dataclass

from codegym.mutation.candidates import Candidate
from codegym.mutation.coverage import Coverage
from codegym.mutation.screening import Screen, effect_of
from codegym.syntax import Edit, parse
from codegym.types import File

SOURCE = b"""\
def f(a):
    total = 0
    for one in a:
        total += one * 2 if one > 0 else one
    return total - len(a)
"""


@dataclass(frozen=True)
class Known:
    """What a screen needs of a baseline."""

    seconds: dict
    coverage: Coverage | None = None


PASSING = Known({"t::a": 0.1})


def made(old, new, *, source=SOURCE, kind="FixTests", path="src/f.py"):
    start = source.index(old)
    edit = Edit(start, start + len(old), new)
    return Candidate(path, parse(source, "python"), edit, "x", "1", 1, kind, "f")


def fault(*candidates, baseline=PASSING, **files):
    tree = {"src/f.py": File(SOURCE), **{f"{k}.py": File(v) for k, v in files.items()}}
    screen = Screen([baseline], tree)
    return [screen.fault(one) for one in candidates]


def test_one_that_is_worth_running():
    assert fault(made(b"one * 2", b"one * 3")) == [None]


def test_what_is_no_program():
    assert fault(made(b"return total", b"return total)")) == ["does_not_parse"]
    assert fault(made(b"    return", b"    break; return")) == ["does_not_parse"]


def test_what_changes_nothing_that_is_run():
    assert fault(made(b"one * 2", b"(one * 2)")) == ["equivalent"]


def test_the_same_file_again_whatever_the_edit():
    again = made(b"total = 0", b"total = 1"), made(b" = 0", b" = 1"), made(b"0\n", b"1\n")
    assert fault(*again) == [None, "duplicate", "duplicate"]


def test_a_file_that_is_no_text():
    latin = "# coding: latin-1\nx = 'größe'\ny = 1\n".encode("latin-1")
    assert fault(made(b"y = 1", b"y = 2", source=latin)) == ["not_text"]
    assert fault(made(b"one * 2", b"one * 3", path="src/\udce9.py")) == ["not_text"]


def test_tests_that_fail_without_the_edit_do_not_cover_it():
    lines = {"src/f.py": frozenset({4})}
    covered = Known({"t::a": 0.1}, Coverage({"t::a": lines}))
    assert fault(made(b"one * 2", b"one * 3"), baseline=covered) == [None]
    elsewhere = Known({"t::b": 0.1}, Coverage({"t::a": lines}))
    assert fault(made(b"one * 2", b"one * 3"), baseline=elsewhere) == ["uncovered"]


def test_a_function_that_every_sandbox_has_from_elsewhere():
    tree = {"src/f.py": File(SOURCE)}
    one = made(b"one * 2", b"one * 3")
    assert Screen([PASSING], tree, frozenset({("src/f.py", "f")})).fault(one) == "copied"
    others = frozenset({("src/g.py", "f"), ("src/f.py", "g")})
    assert Screen([PASSING], tree, others).fault(one) is None


def test_a_feature_that_stands_elsewhere_too():
    body = SOURCE[SOURCE.index(b"\n") + 1 :]
    feature = made(body, b"    raise NotImplementedError\n", kind="ImplementFeature")
    assert fault(feature) == [None]
    copy = b"class Old:\n    def g(self, a):\n" + body.replace(b"    ", b"\t\t")
    assert fault(feature, copy=copy) == ["copied"]
    assert fault(made(b"one * 2", b"one * 3"), copy=SOURCE) == [None]


def test_one_effect_in_two_statements_is_two():
    one = made(b"one * 2", b"one * 3")
    assert effect_of(one, "e") == effect_of(made(b"* 2", b"/ 2"), "e")
    assert effect_of(one, "e") != effect_of(made(b"total = 0", b"total = 1"), "e")
    assert effect_of(one, "e") != effect_of(one, "other")
    assert effect_of(one, "e") != effect_of(made(b"1", b"2", source=b"x = 1\n", path="g.py"), "e")
