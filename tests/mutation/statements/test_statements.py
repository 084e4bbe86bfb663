"""Statements: the behaviour in three levels of detail, and nothing of the edit in any."""

import re
import textwrap
from dataclasses import replace

import pytest
from statement_parts import MESSAGE, TASK, texts

from codegym.mutation import COMPOSITES
from codegym.mutation.statements import DETAILS, Secrets, retold, statements, symptoms, told
from codegym.types import File, Task
from codegym.workspace.diff import diff_trees


def test_three_levels_of_a_wrong_value():
    found = texts()
    low = found["low"]
    assert re.search(r"`area`|Something", low)
    assert "wrong result" in low
    assert not re.search(r"\d", low)
    assert found["medium"] == f"{low}\n\nFor example, `area(4, 5)` gives `9`, not `20`."
    assert found["high"] == low + textwrap.dedent(
        '''

        To reproduce it:

            """Areas — größer."""
            assert area(2, 3) == 6
            assert area(
                4,
                5,
            ) == 20

        This is what happens:

            assert 9 == 20
            +  where 9 = area(4, 5)'''
    )


@pytest.mark.parametrize(
    ("said", "nature", "example"),
    [
        ("KeyError: 'a'", "an error", "For example, `area(4, 5)` ends in `KeyError: 'a'`."),
        ("Failed: DID NOT RAISE <class 'ValueError'>", "error", "DID NOT RAISE"),
        ("RecursionError", "an error", "`RecursionError`"),
        ("assert left == right failed\nE   left: 1\nE   right: 2", "wrong", "gives `1`, not `2`."),
        ("Expected values to be equal:\nE   1 !== 2", "wrong", "gives `1`, not `2`."),
        ("expected: <2> but was: <1>", "wrong", "gives `1`, not `2`."),
        (
            "assert False",
            "behave|behaviour|does not any more",
            "For example, `area(4, 5) == 20` does not hold any more.",
        ),
    ],
)
def test_what_is_wrong(said, nature, example):
    message = f"tests/test_shapes.py:7: in test_area\n    assert\nE   {said}\n"
    found = texts(message)
    assert re.search(nature, found["low"])
    assert example in found["medium"]


def test_seeds_say_it_otherwise_and_the_same_seed_the_same():
    assert texts(seed=3) == texts(seed=3)
    assert len({texts(seed=seed)["low"] for seed in range(20)}) == 3


def test_more_tests_are_told_of_in_the_highest_level_only():
    other = "tests/test_shapes.py:21: in test_biggest\n    assert\nE   assert 2 == 1\n"
    task = replace(TASK, fail_to_pass=("tests/test_shapes.py::test_area", "x::a", "x::b"))
    found = texts(task=task, others=[("tests/test_shapes.py::TestOther::test_biggest", other)])
    assert "For example, `biggest([1], key=area)` gives `2`, not `1`." in found["high"]
    assert found["high"].endswith("In all, 3 tests notice it.")
    assert "biggest" not in found["medium"]


def test_the_right_test_of_two_with_one_name():
    message = "tests/test_shapes.py:16: in test_area\n    with x:\nE   Failed: DID NOT RAISE\n"
    text = texts(message, "tests/test_shapes.py::TestOther::test_area")["high"]
    assert '    with pytest.raises(ValueError):\n        area("a", "b")\n' in text


def test_messages_that_say_nothing():
    for message in ("", "E   \n", "nonsense", "E   RecursionError\n"):
        found = texts(message, "tests/gone.py::test_x")
        assert found["low"].startswith("Something used to work")
        assert "reproduce" not in found["high"]
    assert set(texts("", "").values()) == {"Something used to work, and does not any more."}


def test_a_site_that_tests_do_not_name_is_not_named():
    """The error's own text would say it."""
    task = replace(TASK, provenance={"spans": [{"path": "src/shapes.py", "function": "A.inner"}]})
    message = MESSAGE.replace("assert 9 == 20", "TypeError: inner() lacks 'width'").replace(
        "E    +  where 9 = area(4, 5)\n", ""
    )
    found = texts(message, task=task)
    for text in found.values():
        assert "inner" not in text
    assert "TypeError: …() lacks 'width'" in found["high"]


def test_a_feature_is_named():
    found = texts(task=replace(TASK, kind="ImplementFeature"))
    assert found["low"] == "`area` in `src/shapes.py` is not implemented. Write it."
    assert found["medium"].startswith(found["low"])
    assert "For example:\n\n    " in found["high"]
    assert "return width" not in found["high"]


def test_a_level_can_be_changed():
    found = texts()
    task = told(TASK, found, "low")
    assert (task.problem_statement, task.features["detail"]) == (found["low"], 1)
    high = retold(task, "high")
    assert (high.problem_statement, high.features["detail"]) == (found["high"], 3)
    assert high.features["statement_chars"] == len(found["high"])
    assert retold(high, "low") == task


def task_of(candidate, trial, project):
    """The row that a candidate would be, without what only a sandbox can tell."""
    before = {path: File(parsed.source) for path, (parsed, _) in candidate.files.items()}
    after = {path: File(data) for path, data in candidate.mutants.items()}
    spans = [{"path": s.path, "function": s.function, "put": 1} for s in candidate.spots]
    return Task(
        instance_id=candidate.digest[:10],
        environment="small",
        base_commit="0" * 40,
        patch=diff_trees(after, before),
        start_patch=diff_trees(before, after),
        fail_to_pass=trial.failing,
        pass_to_pass=trial.passing,
        provenance={"spans": spans},
    )


async def test_no_statement_of_any_real_fault_says_where_it_is(project):
    """Looked at without the code that looks for leaks."""
    ground = await project.ground()
    made = [one.candidate for one in ground.singles]
    made += [
        one
        for name in ("linked", "mask", "drift")
        for one in list(COMPOSITES[f"composite.{name}"].propose(ground))[:12]
    ]
    test_words = set(re.findall(r"\w+", project.tests))
    looked_at = 0
    for candidate in made:
        trial = await project.attempt(candidate)
        if trial.reason:
            continue
        task = task_of(candidate, trial, project)
        secrets = Secrets.of(task, ground.tree)
        for seed in range(3):
            found = statements(task, symptoms(ground.tree, "python", trial), secrets, seed)
            assert list(found) == list(DETAILS)
            for text in found.values():
                looked_at += 1
                assert text.strip()
                assert "prices.py" not in text
                assert "shop.py" not in text
                assert not re.search(r"\.py:\d|line \d", text)
                names = {part for spot in candidate.spots for part in spot.function.split(".")}
                for name in names - test_words - {""}:
                    assert not re.search(rf"\b{name}\b", text), (name, text)
                for line in (task.patch + task.start_patch).splitlines():
                    bare = line[1:].strip()
                    if line[:1] in "+-" and line[:3] not in ("+++", "---") and len(bare) > 12:
                        assert bare not in text
    assert looked_at > 300
