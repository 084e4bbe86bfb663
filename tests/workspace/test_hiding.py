"""Hidden tests and features that were taken away leave nothing in the tree."""

import ast
import gzip
import io
import tarfile
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import TaskError
from codegym.types import File, Task
from codegym.workspace.cutting import cut
from codegym.workspace.features import features, without_traces
from codegym.workspace.hiding import hide_tests, unseen_tests

SHOP = b'''\
"""Tests of the shop."""

import pytest

PRICES = {"pear": 3}
SECRET_TOTALS = {"pear": 41, "plum": 87}
SHARED = 5


def secret_helper(name):
    return SECRET_TOTALS[name]


@pytest.fixture
def secret_basket():
    return ["pear"] * 7


@pytest.fixture(autouse=True)
def always():
    yield


def test_price():
    assert PRICES["pear"] == 3


# A pear is told of by its total.
@pytest.mark.parametrize("name", ["pear", "plum"])
def test_total(name, secret_basket):
    assert total(secret_basket) == secret_helper(name) + SHARED


class TestBasket:
    """Baskets."""

    def test_empty(self):
        assert SHARED

    async def test_full(self):
        """It holds much."""
        assert full([1])


class TestOnlyHidden:
    def test_full(self):
        assert nothing


if True:

    def test_branch():
        assert hidden_in_a_branch
'''


def hidden(*ids, shown=()):
    return Task("t", "e", "c", "p", tuple(ids), tuple(shown), hidden=frozenset(ids))


def hide(tree, *ids, subdir="."):
    files = {path: File(data) for path, data in tree.items()}
    return {
        path: file.data for path, file in hide_tests(files, files, hidden(*ids), subdir).items()
    }


def test_a_hidden_test_goes_with_what_only_it_used():
    left = hide(
        {"tests/test_shop.py": SHOP},
        "tests/test_shop.py::test_total[pear]",
        "tests/test_shop.py::TestBasket::test_full",
        "tests/test_shop.py::TestOnlyHidden::test_full",
        "tests/test_shop.py::test_branch",
    )["tests/test_shop.py"]
    for trace in (b"total", b"SECRET", b"secret", b"plum", b"87", b"full", b"much", b"told"):
        assert trace not in left, left.decode()
    for trace in (b"hidden", b"nothing"):
        assert trace not in left
    for kept in (b"PRICES", b"SHARED", b"def always", b"test_price", b"test_empty", b"Baskets."):
        assert kept in left
    ast.parse(left)


def test_a_file_of_hidden_tests_alone_is_absent_and_so_are_its_copies():
    only = b"CASES = [1, 2]\n\n\ndef test_a():\n    assert f() in CASES\n"
    tree = {"tests/test_a.py": only, "old/copy.txt": only, "src/m.py": b"x = 1\n"}
    assert hide(tree, "tests/test_a.py::test_a") == {"src/m.py": b"x = 1\n"}


def test_a_file_that_others_import_keeps_what_they_need():
    tree = {
        "tests/test_a.py": b"def make():\n    return 1\n\n\ndef test_a():\n    assert make()\n",
        "tests/test_b.py": b"from test_a import make\n\n\ndef test_b():\n    assert make()\n",
    }
    left = hide(tree, "tests/test_a.py::test_a")
    assert left["tests/test_a.py"] == b"def make():\n    return 1\n\n\n"


def test_an_inherited_test_goes_wherever_it_is():
    base = (
        b"class Base:\n    def test_a(self):\n        f()\n\n    def test_b(self):\n        pass\n"
    )
    sub = b"from base import Base\n\n\nclass TestSub(Base):\n    pass\n"
    left = hide(
        {"tests/base.py": base, "tests/test_sub.py": sub}, "tests/test_sub.py::TestSub::test_a"
    )
    assert set(left) == {"tests/base.py"}
    assert b"test_a" not in left["tests/base.py"]
    assert b"test_b" in left["tests/base.py"]
    both = base + sub
    left = hide({"tests/test_both.py": both}, "tests/test_both.py::TestSub::test_a")
    assert b"test_a" not in left["tests/test_both.py"]
    assert b"test_b" in left["tests/test_both.py"]


@pytest.mark.parametrize("data", [b"def test_a(:\n", b"\0", b"# coding: none\n", b"(" * 5000])
def test_what_cannot_be_read_is_absent(data):
    assert hide({"tests/test_a.py": data}, "tests/test_a.py::test_a") == {}


def test_other_languages_and_links_and_folders():
    tree = {"tests/a.test.js": b"test('x')", "app/tests/test_a.py": b"def test_a(): pass\n"}
    assert hide(tree, "tests/a.test.js::x", subdir=".") == {
        "app/tests/test_a.py": b"def test_a(): pass\n"
    }
    left = hide(tree, "tests/test_a.py::test_a", subdir="app")
    assert set(left) == {"tests/a.test.js"}
    files = {
        "tests/test_a.py": File(b"../shared/test_real.py", "120000"),
        "shared/test_real.py": File(b"def test_a():\n    pass\n"),
    }
    assert hide_tests(files, files, hidden("tests/test_a.py::test_a"), ".") == {}


def test_a_doctest_cannot_be_hidden():
    with pytest.raises(TaskError, match=r"src/m\.py, which is no test file"):
        hide({"src/m.py": b"def f(): pass\n"}, "src/m.py::m.f")


def test_a_test_that_is_not_there_yet_takes_nothing_with_it():
    base = {"tests/test_a.py": File(b"def test_old():\n    pass\n")}
    graded = {"tests/test_a.py": File(base["tests/test_a.py"].data + b"def test_new(): pass\n")}
    row = hidden("tests/test_a.py::test_new", shown=["tests/test_a.py::test_old"])
    assert hide_tests(base, graded, row, ".") == base
    assert hide_tests(graded, graded, row, ".") == base


def test_tests_that_are_not_in_the_start_are_unseen():
    start = {"tests/test_a.py": File(b"def test_old(x):\n    pass\n")}
    more = b"def test_new(): pass\nclass T:\n    def test_in(self): pass\n"
    graded = {
        "tests/test_a.py": File(start["tests/test_a.py"].data + more),
        "tests/test_b.py": File(b"def test_b(): pass\n"),
        "tests/test_c.py": File(b"def test_c(): pass\n"),
    }
    start["tests/test_c.py"] = graded["tests/test_c.py"]
    ids = ["test_a.py::test_old", "test_a.py::test_new", "test_a.py::test_old[1]"]
    ids += [
        "test_a.py::T::test_in",
        "test_b.py::test_b",
        "test_c.py::test_c",
        "test_c.py::test_c[1]",
    ]
    row = replace(
        hidden("tests/test_a.py::h", shown=[f"tests/{each}" for each in ids]), kind="FixIssue"
    )
    seen = set(row.pass_to_pass) - unseen_tests(row, start, graded, ".")
    assert seen == {"tests/test_a.py::test_old", "tests/test_c.py::test_c"} | (
        {"tests/test_c.py::test_c[1]"}
    )
    assert unseen_tests(row, graded, graded, ".") == frozenset()
    del start["tests/test_c.py"]
    graded["tests/conftest.py"] = File(b"cases = [1]\n")
    start["tests/test_c.py"] = graded["tests/test_c.py"]
    assert "tests/test_c.py::test_c[1]" in unseen_tests(row, start, graded, ".")


def test_nothing_hidden_changes_nothing():
    files = {"a": File(b"x")}
    assert hide_tests(files, files, hidden(), ".") is files


NAMES = [f"test_{letter}" for letter in "abcdef"]


@st.composite
def modules(draw):
    lines = []
    for number, name in enumerate(draw(st.permutations(NAMES))):
        head = draw(st.sampled_from([f"class C{number}:", "if True:", ""]))
        lines += [head] * bool(head)
        pad = "    " if head else ""
        if draw(st.booleans()):
            lines += [f"{pad}# about {name}"]
        if draw(st.booleans()):
            lines += [f"{pad}@mark(", f"{pad}    '{name}',", f"{pad})"]
        lines += [f"{pad}def {name}(x={number}):", f"{pad}    assert '''\n  {name}\n'''", ""]
    return "\n".join(lines) + "\n"


@given(modules(), st.sets(st.sampled_from(NAMES)))
def test_what_is_cut_is_gone_and_the_rest_is_as_it_was(source, names):
    found = cut(source.encode(), {(name,) for name in names}, anywhere=True)
    assert found is not None
    assert found.cut == len(names)
    tree = ast.parse(found.source)
    left = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert left == set(NAMES) - names
    for name in names:
        assert name.encode() not in found.source
    before = {
        node.name: ast.dump(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert ast.dump(node) == before[node.name]


# Features

START = b'''\
class Box:
    def area(self):
        """Width times height."""
        raise NotImplementedError

    def later(self):
        raise NotImplementedError
'''
GOLD = START.replace(
    b'height."""\n        raise NotImplementedError',
    b'height."""\n        width, height = self.width, self.height\n'
    b"        if width < 0 or height < 0:\n            raise ValueError(width, height)\n"
    b"        return width * height",
)
BODY = b"\n".join(GOLD.splitlines()[3:7])
FEATURE = Task("t", "e", "c", "p", ("x",), (), kind="ImplementFeature")


def packed(name, data):
    """An archive as a build makes it."""
    buffer, member = io.BytesIO(), tarfile.TarInfo(name)
    member.size = len(data)
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def trees(**others):
    start = {"src/box.py": File(START), **{k: File(v) for k, v in others.items()}}
    return start, {**start, "src/box.py": File(GOLD)}


def left(**others):
    start, gold = trees(**others)
    return set(without_traces(start, start, gold, FEATURE)) - {"src/box.py"}


def test_a_feature_is_named():
    assert features(*trees()) == ("src/box.py::Box.area",)
    new = {"m.py": File(b"def f():\n    return 1\n\n\ndef _g():\n    return 2\n")}
    assert features({"m.py": File(b"")}, new) == ("m.py::f",)
    assert features({}, {"m.py": File(b"def (")}) == ()


def test_stubs_compiled_files_and_built_copies_are_absent():
    assert left(
        **{
            "src/box.pyi": b"class Box: ...",
            "src/box.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
            "src/box.c": b"int area;",
            "stubs/shapes.pyi": b"class Box:\n    def area(self) -> int: ...\n",
            "stubs/other.pyi": b"def volume() -> int: ...\n",
            "src/box.pxd": b"cdef class Box: pass",
            "build/lib/box.py": GOLD.replace(b"width", b"w"),
            "build/lib/all.py": GOLD,
            "dist/box-1.tar.gz": packed("box-1/src/box.py", b"# 1.0\n" + GOLD),
            "dist/other-1.tar.gz": packed("other.py", b"def volume():\n    return 1\n"),
            "docs/use.md": b"Call `Box.area()`.",
            "src/caller.py": b"from box import Box\nprint(Box().area())\n",
        }
    ) == {"dist/other-1.tar.gz", "stubs/other.pyi", "docs/use.md", "src/caller.py"}


def test_built_copies_of_any_solution_are_absent():
    start, gold = trees(
        **{"build/lib/all.py": GOLD, "dist/a.tar.gz": packed("a.py", GOLD), "src/copy.py": GOLD}
    )
    for kind in ("FixTests", "FixIssue"):
        shown = without_traces(start, start, gold, replace(FEATURE, kind=kind))
        assert set(shown) == {"src/box.py", "src/copy.py"}


@pytest.mark.parametrize(
    "copy",
    [
        GOLD.replace(b"class Box", b"class Other"),
        b"Like this:\n\n" + BODY.replace(b"        ", b"    ") + b"\n\nand so on",
        BODY.replace(b"\n", b"\r\n\r\n"),
        gzip.compress(GOLD.replace(b"class Box", b"class Other")),
    ],
)
def test_a_copy_of_the_answer_breaks_the_task(copy):
    with pytest.raises(TaskError, match=r"notes\.txt holds a copy"):
        left(**{"notes.txt": copy})
