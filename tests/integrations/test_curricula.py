"""Samplers of ours choose tasks for prime-rl and Syllabus, and learn from what they report."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import gymnasium as gym
import pytest
from support import make_tiny_environment, make_tiny_home, tiny_task

import codegym  # noqa: F401 - registers the envs
from codegym.curriculum.samplers import load_sampler
from codegym.errors import UsageError
from codegym.integrations.curricula import PrimeSampler, syllabus_curriculum, syllabus_env
from codegym.types import call


@dataclass
class Trace:
    """As much of one of verifiers' as samplers of prime-rl look at."""

    reward: float
    has_error: bool = False
    num_turns: int = 1
    agent: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(trainable=True))


def episode(task, *traces, ok=True):
    return SimpleNamespace(task=task, traces=traces, ok=ok)


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    row = tiny_task(make_tiny_environment(tmp_path_factory.mktemp("made") / "tiny"))
    return [replace(row, instance_id=f"tiny-{number}") for number in range(4)]


def theirs(pool):
    return [SimpleNamespace(key=task.instance_id) for task in reversed(pool)]


def test_prime_rl_gets_its_own_tasks_and_none_is_forgotten(pool):
    tasks = theirs(pool)
    sampler = PrimeSampler(load_sampler("uniform", {}), pool, tasks)
    drawn = [next(sampler) for _ in range(60)]
    assert {id(task) for task in drawn} == {id(task) for task in tasks}
    assert iter(sampler) is sampler


def test_what_prime_rl_reports_moves_the_sampler(pool):
    """A task that is always solved is drawn less than one that is sometimes."""
    tasks = {task.key: task for task in theirs(pool)}
    sampler = PrimeSampler(load_sampler("frontier_hybrid", {}), pool, tasks.values())
    for _ in range(30):
        for number, rewards in enumerate([(1, 1), (0, 1), (1, 1), (1, 1)]):
            sampler.observe([episode(tasks[f"tiny-{number}"], Trace(one)) for one in rewards])
    drawn = [next(sampler).key for _ in range(200)]
    assert drawn.count("tiny-1") > 80


def test_what_failed_is_no_evidence(pool):
    tasks = theirs(pool)
    sampler = PrimeSampler(load_sampler("frontier_hybrid", {}), pool, tasks)
    before = sampler.state_dict()
    sampler.observe([episode(tasks[0], Trace(1.0), ok=False), episode(tasks[0])])
    sampler.observe([episode(tasks[0], Trace(1.0, has_error=True), Trace(1.0, num_turns=0))])
    frozen = Trace(1.0, agent=SimpleNamespace(trainable=False))
    sampler.observe([episode(tasks[0], frozen)])
    assert sampler.state_dict() == before
    sampler.observe([episode(tasks[0], Trace(1.0))])
    assert sampler.state_dict() != before
    assert sampler.metrics()["episodes"] == 1


def test_its_state_comes_back(pool):
    tasks = theirs(pool)
    first = PrimeSampler(load_sampler("frontier_hybrid", {}), pool, tasks)
    first.observe([episode(tasks[1], Trace(1.0)), episode(tasks[1], Trace(0.0))])
    next(first)
    other = PrimeSampler(load_sampler("frontier_hybrid", {}), pool, tasks)
    other.load_state_dict(first.state_dict())
    assert [next(other) for _ in range(10)] == [next(first) for _ in range(10)]


def test_a_task_that_prime_rl_does_not_have_is_named(pool):
    with pytest.raises(UsageError, match="has the key 'tiny-0'"):
        PrimeSampler(load_sampler("uniform", {}), pool, theirs(pool[1:]))
    with pytest.raises(UsageError, match="there is no task"):
        PrimeSampler(load_sampler("uniform", {}), [], [])


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_syllabus_draws_and_learns_from_real_episodes(pool, tmp_path, monkeypatch):
    pytest.importorskip("syllabus")
    from syllabus.core import CurriculumSyncWrapper, GymnasiumSyncWrapper

    monkeypatch.chdir(make_tiny_home(tmp_path, tasks=4))
    sampler = load_sampler("frontier_hybrid", {})
    curriculum = CurriculumSyncWrapper(syllabus_curriculum(sampler, pool), use_simple_queues=True)
    assert curriculum.tasks == [task.instance_id for task in pool]
    env = syllabus_env(gym.make("CodeGym/FixTests-v0", tasks="tiny"))
    synced = GymnasiumSyncWrapper(env, curriculum.task_space, curriculum.components)
    ends = [_play(synced, curriculum, actions) for actions in ([END], [REPAIR, END])]
    env.close()
    curriculum.components.close()
    assert ends == [0.0, 1.0]
    assert sampler.metrics()["episodes"] == 2


END = call("submit")
REPAIR = call(
    "edit",
    path="src/tinycalc/order.py",
    old="    return ordered[len(ordered) // 2]\n",
    new="    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]\n"
    "    return (low + high) / 2\n",
)


def _play(env, curriculum, actions):
    """One episode of the task that the curriculum draws; returns how complete it said it was."""
    (place,) = curriculum.sample()
    curriculum.components.put_task({"next_task": place})
    _, info = env.reset()
    assert info["task"] == place
    assert info["task_id"] == curriculum.tasks[place]
    for action in actions:
        *_, info = env.step(action)
    while not curriculum.components.update_queue.empty():
        update = curriculum.components.get_update()
        curriculum.route_update(update[0] if isinstance(update, list) else update)
    return info["task_completion"]
