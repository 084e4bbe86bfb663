"""Grades from memory: the law, and that it is told where they cannot be relied on."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.marking import AGAIN, Marker, drawn, key_of
from codegym.envs.session import Session
from codegym.errors import SandboxError
from codegym.store.memo import ScoreMemo
from codegym.types import Change, Grade, Manifest


class Counting:
    """Stands where a setting would, and counts what is asked of it."""

    def __init__(self, grade):
        self.grade_of, self.asked = grade, []

    async def grade(self, ready, work, *, brief):
        self.asked.append(work)
        await asyncio.sleep(0)
        return Grade(score=self.grade_of(work))


def ready(name="a"):
    from codegym.types import Task

    task = Task(name, "tiny", "0" * 40, "patch", ("t::a",), ("t::b",), hidden=frozenset("xyz"))
    part = SimpleNamespace(digest="d")
    return SimpleNamespace(task=task, environment=part, image=part)


def work(content):
    return Manifest((Change("a.py", content.encode()),))


@given(asked=st.lists(st.sampled_from("abcd"), max_size=60), seed=st.integers(0, 5))
def test_each_work_is_graded_once_and_then_remembered(tmp_path_factory, asked, seed):
    memo = ScoreMemo(tmp_path_factory.mktemp("memo") / "memo.sqlite")
    setting, marker = Counting(lambda one: float(one == work("a"))), Marker(memo, seed)

    async def play():
        return [await marker.score(setting, ready(), work(one)) for one in asked]

    assert asyncio.run(play()) == [float(one == "a") for one in asked]
    tally = marker.tally
    assert tally.unique == len(set(asked)) == len(memo)
    assert tally.unique + tally.hits + tally.again == len(asked)
    assert len(setting.asked) == tally.unique + tally.again
    assert tally.differences == 0


def test_who_asks_at_the_same_time_waits_for_one_grading(tmp_path):
    setting, marker = Counting(lambda _: 1.0), Marker(ScoreMemo(tmp_path / "memo.sqlite"))

    async def play():
        asked = (marker.score(setting, ready(), work("a")) for _ in range(8))
        return await asyncio.gather(*asked)

    assert asyncio.run(play()) == [1.0] * 8
    assert (len(setting.asked), marker.tally.unique, marker.tally.hits) == (1, 1, 7)


def test_a_twentieth_is_graded_again_and_the_seed_says_which():
    draws = {seed: [drawn(seed, "key", n) for n in range(4000)] for seed in (0, 1)}
    assert draws[0] == [drawn(0, "key", n) for n in range(4000)]
    assert draws[0] != draws[1]
    for each in draws.values():
        assert AGAIN - 0.02 < sum(each) / 4000 < AGAIN + 0.02


def test_a_grade_that_changes_is_counted_and_the_new_one_is_kept(tmp_path):
    memo, scores = ScoreMemo(tmp_path / "memo.sqlite"), iter([0.0, *[1.0] * 500])
    setting, marker = Counting(lambda _: next(scores)), Marker(memo, 0)

    async def play():
        while not marker.tally.again:
            await marker.score(setting, ready(), work("a"))

    asyncio.run(play())
    assert marker.tally.differences == 1
    assert memo.get(key_of(ready(), work("a"))) == 1.0


def test_a_broken_sandbox_is_no_score_and_is_not_remembered(tmp_path):
    def fail(_):
        raise SandboxError("gone")

    memo = ScoreMemo(tmp_path / "memo.sqlite")
    setting, marker = Counting(fail), Marker(memo)
    with pytest.raises(SandboxError):
        asyncio.run(marker.score(setting, ready(), work("a")))
    assert (len(memo), marker.tally.unique) == (0, 0)
    setting.grade_of = lambda _: 1.0
    assert asyncio.run(marker.score(setting, ready(), work("a"))) == 1.0


def test_a_key_tells_task_work_and_image_apart():
    other_image = ready()
    other_image.image = SimpleNamespace(digest="e")
    keys = [
        key_of(ready(), work("a")),
        key_of(ready(), work("b")),
        key_of(ready("b"), work("a")),
        key_of(other_image, work("a")),
        key_of(ready(), Manifest((Change("a.py", None),))),
        key_of(ready(), Manifest((Change("a.py", b"a", executable=True),))),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == key_of(ready(), work("a"))


def test_real_grades_are_remembered_in_the_file_and_without_it_all_are_cold(make, tmp_path):
    env = make(candidates=16, memo=tmp_path / "memo.sqlite")
    board = env.board("tiny-minus")
    session = Session()

    async def graded(marker):
        setting = await session.setting()
        return [await marker.score(setting, board.ready, board.work(0)) for _ in range(2)]

    try:
        cold = Marker()
        first = session.run(graded(cold))
        assert session.run(graded(env.marker)) == first
        assert env.marker.tally.unique == 1
        assert cold.tally.unique == 2
        later = Marker(ScoreMemo(tmp_path / "memo.sqlite"))
        assert session.run(graded(later)) == first
        assert later.tally.unique == 0
    finally:
        session.close()
