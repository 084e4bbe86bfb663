"""Problem statements: the behaviour, and nothing of the edit."""

import textwrap

from codegym.mutation.candidates import Candidate
from codegym.mutation.statement import statement_of
from codegym.syntax import Edit, parse
from codegym.types import File

SOURCE = b"def area(a, b):\n    return a * b\n"
TEST = textwrap.dedent(
    '''\
    from shapes import area


    def test_area():
        """Areas — größer."""
        assert area(2, 3) == 6
        assert area(
            4,
            5,
        ) == 20
        assert area(0, 1) == 0


    class TestOther:
        def test_area(self, tmp_path):
            with pytest.raises(ValueError):
                area("a", "b")
    '''
).encode()
MESSAGE = """\
tests/test_shapes.py:7: in test_area
    assert area(
src/shapes.py:2: in area
    return a + b
E   assert 9 == 20
E    +  where 9 = area(<A object at 0x7f9aa7b89c10>)
E   Use -v to get more diff
"""
TREE = {"src/shapes.py": File(SOURCE), "tests/test_shapes.py": File(TEST)}


def made(kind="FixTests"):
    edit = Edit(SOURCE.index(b"*"), SOURCE.index(b"*") + 1, b"+")
    return Candidate(
        "src/shapes.py", parse(SOURCE, "python"), edit, "python.arithmetic", "1", 1, kind, "area"
    )


def test_a_fault_is_told_by_what_its_test_sees():
    text = statement_of(made(), TREE, "tests/test_shapes.py::test_area", MESSAGE)
    assert text == textwrap.dedent(
        '''\
        Something that used to work gives a wrong result.

        To reproduce it:

            """Areas — größer."""
            assert area(2, 3) == 6
            assert area(
                4,
                5,
            ) == 20

        This is what happens:

            assert 9 == 20
            +  where 9 = area(<A object at 0x...>)'''
    )


def test_nothing_of_the_edit_is_in_it():
    text = statement_of(made(), TREE, "tests/test_shapes.py::test_area", MESSAGE)
    for word in ("shapes.py", "a + b", "a * b", "arithmetic", "test_area"):
        assert word not in text


def test_the_right_test_of_two_with_one_name():
    message = "tests/test_shapes.py:16: in test_area\n    with x:\nE   Failed: DID NOT RAISE\n"
    text = statement_of(made(), TREE, "tests/test_shapes.py::TestOther::test_area", message)
    assert '    with pytest.raises(ValueError):\n        area("a", "b")\n' in text
    assert "DID NOT RAISE" in text


def test_a_message_that_says_nothing_of_a_place():
    text = statement_of(made(), TREE, "tests/test_shapes.py::test_area", "E   RecursionError\n")
    assert "To reproduce" not in text
    assert "RecursionError" in text
    assert statement_of(made(), TREE, "tests/gone.py::test_x", "") == (
        "Something that used to work gives a wrong result."
    )


def test_a_feature_is_named():
    text = statement_of(made("ImplementFeature"), TREE, "tests/test_shapes.py::test_area", MESSAGE)
    assert text.startswith("`area` in `src/shapes.py` is not implemented.")
