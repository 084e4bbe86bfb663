"""What each operator for Python makes of a source, and what none ever does."""

import textwrap
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import codegym
from codegym.mutation.operators import BUILTIN, load_operators
from codegym.mutation.operators.python.queried import OPERATORS
from codegym.syntax import apply_edits, changes, parse, reparse

ALL = load_operators((), "python", ["FixTests", "ImplementFeature"])
#: Those have their cases in `cases/python.txt`; `test_every_language.py` sees to the rest.
QUERIED = {one.id for one in vars(OPERATORS).values()}
OLDER = [one for one in ALL if one.id not in QUERIED]

FIELDS = """\
class A:
    def f(self):
        self.a = 1
        self.b = 2
        return self.a + self.f()
"""

#: Operator, source, and all that it makes of it.
CASES = [
    ("comparison", "a < b", {"a <= b", "a >= b"}),
    ("comparison", "a is  not b", {"a is b"}),
    ("comparison", "a in b", {"a not in b"}),
    ("comparison", "1 < a <= é", {"1 <= a <= é", "1 >= a <= é", "1 < a < é", "1 < a > é"}),
    ("boolean", "a and b", {"a or b"}),
    ("boolean", "a or b", {"a and b"}),
    ("changed_text", "a.encode('ascii')", {"a.encode('asci')"}),
    ("changed_text", "a.encode('utf8')", set()),
    ("arithmetic", "a + b", {"a - b"}),
    ("arithmetic", "a * b", {"a + b", "a // b"}),
    ("arithmetic", "'%s' % a", set()),
    ("arithmetic", "def f(a: int | None): pass", set()),
    ("augmented_assignment", "a += 1", {"a = 1", "a -= 1"}),
    ("augmented_assignment", "a @= b", {"a = b"}),
    ("removed_sign", "not a", {"a"}),
    ("removed_sign", "-a", {"a"}),
    ("removed_sign", "async def f():\n    await g()", {"async def f():\n    g()"}),
    ("removed_sign", "+a", set()),
    ("off_by_one", "range(n)", {"range(n + 1)", "range(n - 1)"}),
    ("off_by_one", "range(n - 1)", {"range(n)"}),
    ("off_by_one", "a[1:]", {"a[0:]", "a[2:]"}),
    ("off_by_one", "a[:b or c]", {"a[:(b or c) + 1]", "a[:(b or c) - 1]"}),
    ("off_by_one", "a[::2]", set()),
    ("off_by_one", "a[-1]", {"a[0]", "a[-2]"}),
    ("off_by_one", "a[key]", set()),
    ("off_by_one", "x: tuple[1]", set()),
    ("negated_condition", "if a:\n    b()", {"if not a:\n    b()"}),
    ("negated_condition", "if a and b:\n    c()", {"if not (a and b):\n    c()"}),
    ("negated_condition", "if a < b:\n    c()", set()),
    ("negated_condition", "x = a if b else c", {"x = a if not b else c"}),
    ("dropped_filter", "[a for a in b if a]", {"[a for a in b]"}),
    ("swapped_branches", "x = a if b else c", {"x = c if b else a"}),
    (
        "swapped_branches",
        "if a:\n    b()\n    c()\nelse:\n    d()\n",
        {"if a:\n    d()\nelse:\n    b()\n    c()\n"},
    ),
    ("swapped_branches", "if a: b()\nelse:\n    d()\n", set()),
    ("loop_control", "while a:\n    break", {"while a:\n    continue"}),
    ("loop_control", "while a:\n    continue", {"while a:\n    break"}),
    ("changed_constant", "a = 3", {"a = 4", "a = 2"}),
    ("changed_constant", "a = 0x1f", {"a = 0x20", "a = 0x1e"}),
    ("changed_constant", "a = True", {"a = False"}),
    ("changed_constant", "a = 0.5", {"a = 1.5", "a = 0.25"}),
    ("changed_constant", "__version__ = 3", set()),
    ("changed_constant", "range(3)", set()),
    ("changed_default", "def f(a=1): pass", {"def f(a=2): pass", "def f(a=0): pass"}),
    ("changed_default", "def f(*, a: int = None): pass", {"def f(*, a: int = False): pass"}),
    ("changed_default", "def f(a='é'): pass", {"def f(a=''): pass", "def f(a='É'): pass"}),
    ("changed_text", "a = 'fuß'", {"a = 'fu'", "a = 'FUSS'"}),
    ("changed_text", "def f():\n    'what it does'", set()),
    ("changed_text", "raise E('why')", set()),
    ("changed_text", r"a = 'b\n'", set()),
    ("changed_text", "a = f'{b}c'", set()),
    ("changed_text", "__all__ = ['a']", set()),
    ("swapped_arguments", "f(a, b)", {"f(b, a)"}),
    ("swapped_arguments", "f(a, *b, c=1)", set()),
    ("swapped_arguments", "isinstance(a, b)", set()),
    ("dropped_argument", "f(a, b)", {"f(a)"}),
    ("dropped_argument", "f(a=1, b=2)", {"f(b=2)", "f(a=1)"}),
    ("dropped_argument", "f(a)", set()),
    ("removed_call", "b = sorted(a, key=k)", {"b = a"}),
    ("removed_call", "b = a.strip().x", {"b = a.x"}),
    ("removed_call", "b = list(a or c)", {"b = (a or c)"}),
    ("removed_call", "a.copy()", set()),
    ("wrong_variable", "def f(a, b):\n    return a", {"def f(a, b):\n    return b"}),
    ("wrong_variable", "def f(self, a):\n    return a", set()),
    (
        "wrong_variable",
        "def f(a):\n    b = a.c(a=1)\n    return b",
        {"def f(a):\n    b = a.c(a=1)\n    return a"},
    ),
    ("wrong_attribute", FIELDS, {FIELDS.replace("self.a +", "self.b +")}),
    (
        "removed_guard",
        "def f(a):\n    if not a:\n        return 0\n    return 1\n",
        {"def f(a):\n    return 1\n"},
    ),
    ("removed_guard", "if a:\n    b()\n", set()),
    ("removed_statement", "f()  # why\ng = 1\n", {"g = 1\n"}),
    ("removed_statement", "if a:\n    f()\n", {"if a:\n    pass\n"}),
    ("removed_statement", "a(); b()\n", {"pass; b()\n", "a(); pass\n"}),
    ("removed_statement", "def f(a):\n    a = 1\n    c = a\n", {"def f(a):\n    c = a\n"}),
    ("removed_statement", "print(1)\nx = 2\n", set()),
    (
        "early_return",
        "def f(a):\n    for b in a:\n        g(b)\n    return a\n",
        {"def f(a):\n    for b in a:\n        g(b)\n        return a\n"},
    ),
    (
        "early_return",
        "def f(a):\n    r = a\n    h()\n    return r\n",
        {"def f(a):\n    r = a\n    return r\n    h()\n    return r\n"},
    ),
    ("exception_handling", "raise KeyError(a)", {"raise IndexError(a)"}),
    ("exception_handling", "raise Mine(a)", set()),
    (
        "exception_handling",
        "try:\n    a()\nexcept (A, B) as e:\n    c()\n",
        {
            "try:\n    a()\nexcept A as e:\n    c()\n",
            "try:\n    a()\nexcept B as e:\n    c()\n",
            "try:\n    a()\nexcept (A, B) as e:\n    pass\n",
        },
    ),
    (
        "exception_handling",
        "try:\n    a()\nexcept A:\n    pass\nexcept B:\n    pass\n",
        {
            "try:\n    a()\nexcept Exception:\n    pass\nexcept B:\n    pass\n",
            "try:\n    a()\nexcept B:\n    pass\n",
            "try:\n    a()\nexcept A:\n    pass\n",
        },
    ),
    (
        "remove_body",
        'def f(a):\n    "Does."\n    b = a\n    b += 1\n    return b\n    # so it is\n\n\nx = 1\n',
        {'def f(a):\n    "Does."\n    raise NotImplementedError\n\n\nx = 1\n'},
    ),
    (
        "remove_body",
        "def f(a):  # adds\n    # by two\n    b = a\n    b += 1\n    return b",
        {"def f(a):\n    raise NotImplementedError"},
    ),
    ("remove_body", "def f(a):\n    b = 1\n    return b\n", set()),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES)
def test_what_it_makes(mutants, name, text, expected):
    assert mutants(name, text) == expected


def test_every_operator_has_a_case():
    ours = {one.id for one in OLDER}
    assert {f"python.{name}" for name, _, expected in CASES if expected} == ours


def test_ids_are_the_names_that_they_go_by():
    assert {one.id for one in ALL} == {name for name in BUILTIN if name.startswith("python.")}
    assert all(1 <= one.tier <= 5 and one.languages == ("python",) for one in ALL)


FILES = sorted(Path(codegym.__file__).parent.glob("*/*.py"))[::6]
LETTERS = '''\
class Größe:
    """Ein Maß — 🦆."""

    def сумма(self, числа, *, début="é", 終=10):
        self.总 = 0; self.rest = "ß"
        итог = []
        for число in числа[1:]:
            if not число or число > 終 and début:
                raise KeyError("ключ 🦆")
            try:
                итог.append(self.总 + число)
            except (KeyError, ValueError) as ошибка:
                continue
            self.总 += число
        итог = sorted(итог)
        return итог
'''.encode()
SAMPLE = (Path(__file__).parent / "samples" / "shop.py").read_bytes()
TEXTS = [LETTERS, LETTERS.replace(b"\n", b"\r\n"), textwrap.indent(LETTERS.decode(), "\t").encode()]
TEXTS[2] = b"if True:\n" + TEXTS[2]


@pytest.mark.parametrize("operator", OLDER, ids=lambda one: one.id)
def test_every_edit_makes_another_program(find_edits, operator):
    found = 0
    for source in (SAMPLE, *TEXTS, *(file.read_bytes() for file in FILES)):
        parsed = parse(source, "python")
        for edit in find_edits(operator, source)[:40]:
            found += 1
            assert changes(source, edit)
            after = reparse(parsed, [edit])
            assert after.is_clean, (operator.id, source[edit.start - 60 : edit.end + 20], edit)
            after.source.decode()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(after.source, "mutant", "exec", dont_inherit=True)
    assert found


@pytest.mark.parametrize("operator", OLDER, ids=lambda one: one.id)
def test_letters_before_an_edit_do_not_move_it(find_edits, operator):
    plain = find_edits(operator, LETTERS)
    before = "# Ж🦆é\n".encode()
    moved = find_edits(operator, before + LETTERS)
    assert [(e.start + len(before), e.end + len(before), e.replacement) for e in plain] == [
        (e.start, e.end, e.replacement) for e in moved
    ]


@given(st.integers(0, 2**32), st.sampled_from(OLDER))
def test_a_seed_decides(find_edits, seed, operator):
    once = find_edits(operator, LETTERS, seed)
    assert once == find_edits(operator, LETTERS, seed)
    for edit in once:
        after = apply_edits(LETTERS, [edit])
        assert after[: edit.start] == LETTERS[: edit.start]
        assert after.endswith(LETTERS[edit.end :])
