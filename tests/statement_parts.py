"""A fault of one line, its test and what that says: what tests of statements share."""

import textwrap

from codegym.mutation.statements import Secrets, statements, symptoms
from codegym.mutation.trial import Trial
from codegym.types import File, Task
from codegym.workspace.diff import diff_trees

SOURCE = b"def area(width, height):\n    return width * height\n"
TEST = textwrap.dedent(
    '''\
    from shapes import area, biggest


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

        def test_biggest(self):
            found = biggest([1], key=area)
            assert found == 1
    '''
).encode()
MESSAGE = """\
tests/test_shapes.py:7: in test_area
    assert area(
src/shapes.py:2: in area
    return width + height
E   assert 9 == 20
E    +  where 9 = area(4, 5)
E   Use -v to get more diff
"""
TREE = {"src/shapes.py": File(SOURCE), "tests/test_shapes.py": File(TEST)}
TASK = Task(
    instance_id="tiny-1",
    environment="tiny",
    base_commit="0" * 40,
    patch=diff_trees(
        {"src/shapes.py": File(SOURCE.replace(b"*", b"+"))}, {"src/shapes.py": File(SOURCE)}
    ),
    fail_to_pass=("tests/test_shapes.py::test_area",),
    pass_to_pass=(),
    provenance={"spans": [{"path": "src/shapes.py", "function": "area", "put": 1}]},
)


def texts(message=MESSAGE, test="tests/test_shapes.py::test_area", task=TASK, others=(), seed=0):
    trial = Trial(example=test, message=message, others=tuple(others))
    return statements(task, symptoms(TREE, "python", trial), Secrets.of(task, TREE), seed)
