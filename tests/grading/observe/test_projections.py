"""Objects are compared by the attributes that an environment declares, and else not at all."""

from dataclasses import replace

import pytest

from codegym.errors import DataError
from codegym.tasks import load_environment
from codegym.types import Change, Manifest

# What was recorded of a solved tree is kept, so the trees of the two cases differ in a name.
SPAN = """\
class Span:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __eq__(self, other):
        return {equal}


def {name}(numbers):
    return Span({low}, max(numbers))
"""
EQUAL = "isinstance(other, Span) and (self.low, self.high) == (other.low, other.high)"
TEST = """\
from tinycalc.spans import Span, {name}


def test_span():
    assert {name}([3, 7, 2]) == Span(2, 7)
"""


def added(path, text):
    lines = text.splitlines()
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)


PATH = "src/tinycalc/spans.py"


def named(declared):
    return "declared_span" if declared else "span"


def text(declared, *, equal=EQUAL, low="min(numbers)"):
    return SPAN.format(name=named(declared), equal=equal, low=low)


def spans(tiny, task, *, declared):
    """The environment and a task whose test is about an object of the code's own class."""
    names = (("tinycalc.spans.Span", ("low", "high")),) if declared else ()
    line = "    return Span({}, max(numbers))"
    mend = f"@@ -10 +10 @@\n-{line.format(0)}\n+{line.format('min(numbers)')}\n"
    task = replace(
        task,
        instance_id=f"tiny-spans-{declared}",
        start_patch=task.start_patch + added(PATH, text(declared, low="0")),
        patch=f"diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n{mend}",
        test_patch=added("tests/test_spans.py", TEST.format(name=named(declared))),
        fail_to_pass=("tests/test_spans.py::test_span",),
    )
    return replace(tiny, suites=(replace(tiny.suites[0], projections=names),)), task


async def graded(range_, tiny, *, declared, **different):
    """The grade of a certain text of the module."""
    environment, task = spans(tiny, range_.task, declared=declared)
    ready = await range_.setting.ready(task, environment)
    work = Manifest((Change(PATH, text(declared, **different).encode()),))
    return await range_.setting.grade(ready, work)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("declared", [True, False])
async def test_declared_objects_are_observed(range_, tiny, declared):
    grade = await graded(range_, tiny, declared=declared)
    assert grade.score == 1.0
    assert (grade.assurance == "observed") is declared


@pytest.mark.asyncio(loop_scope="module")
async def test_an_object_equal_to_everything_is_seen_through(range_, tiny):
    grade = await graded(range_, tiny, declared=True, equal="True", low="0")
    assert grade.score == 0.0


def test_a_projection_is_a_class_and_its_attributes(tiny, tmp_path):
    for name in ("environment.toml", "history.fast-export", "requirements.lock", "Dockerfile"):
        (tmp_path / name).write_bytes((tiny.folder / name).read_bytes())
    file = tmp_path / "environment.toml"
    text = file.read_text()
    head, suite = text.split("[[suites]]\n", 1)
    for written, said in (
        ('projections = {"tinycalc.spans.Span" = ["low"]}', None),
        ('projections = {"Span" = ["low"]}', "no class"),
        ('projections = {"tinycalc.spans.Span" = []}', "at least 1"),
        ('projections = {"tinycalc.spans.Span" = ["low()"]}', "attribute"),
    ):
        file.write_text(f"{head}[[suites]]\n{written}\n{suite}")
        if said is None:
            declared = load_environment(tmp_path).suites[0].projections
            assert declared == (("tinycalc.spans.Span", ("low",)),)
            continue
        with pytest.raises(DataError, match=said):
            load_environment(tmp_path)
