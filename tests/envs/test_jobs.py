"""Which episodes are played follows from seed and index alone."""

from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.jobs import jobs
from codegym.types import Task


class Source:
    """Tasks with no environment behind them: nothing is played here."""

    digest = "x"

    def __init__(self, count):
        self.rows = [Task(f"t-{n}", "x", "", "", ("a",), ()) for n in range(count)]

    def sample(self, rng):
        return self.rows[int(rng.integers(len(self.rows)))]

    def __iter__(self):
        return iter(self.rows)


def listed(count=5, samples=3, *, seed=0, draws=None, done=()):
    return list(jobs(Source(count), samples, seed=seed, draws=draws, done=frozenset(done)))


def test_each_task_once_in_order_with_its_samples():
    got = listed()
    assert [job.index for job in got] == list(range(15))
    assert [job.task.instance_id for job in got[:4]] == ["t-0", "t-0", "t-0", "t-1"]
    assert len({job.seed for job in got}) == 15


@given(st.sets(st.integers(0, 14)), st.none() | st.integers(0, 5), st.integers(0, 2**63))
def test_what_is_done_is_left_out_and_changes_nothing_else(done, draws, seed):
    whole = {job.index: job for job in listed(seed=seed, draws=draws)}
    rest = listed(seed=seed, draws=draws, done=done)
    assert {job.index for job in rest} == set(whole) - done
    for job in rest:
        same = whole[job.index]
        assert (job.task, job.seed, job.group) == (same.task, same.seed, same.group)
        siblings = [index for index in whole if whole[index].group == job.group]
        assert job.group_size == len(set(siblings) - done)


def test_draws_follow_the_seed():
    drawn = [job.task.instance_id for job in listed(seed=1, draws=20, samples=1)]
    assert drawn == [job.task.instance_id for job in listed(seed=1, draws=20, samples=1)]
    assert drawn != [job.task.instance_id for job in listed(seed=2, draws=20, samples=1)]


def test_tasks_are_drawn_one_group_at_a_time():
    class Endless(Source):
        drawn = 0

        def sample(self, rng):
            self.drawn += 1
            return super().sample(rng)

    source = Endless(2)
    coming = jobs(source, 2, seed=0, draws=10**9, done=frozenset())
    for _ in range(3):
        next(coming)
    assert source.drawn == 2
