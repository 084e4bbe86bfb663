"""A curriculum as a task source: shared by processes, killed, gone on with, and played."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from codegym.curriculum import Outcome, open_curriculum
from codegym.curriculum.outcomes import as_group
from codegym.errors import NotFoundError, UsageError
from codegym.registration import resolve
from codegym.tasks.rows import write_rows

#: Observes for ever: outcome after outcome of the task that is drawn, and says so.
WORKER = """
import sys
import numpy as np
from codegym.curriculum import Outcome, open_curriculum
from codegym.curriculum.outcomes import as_group
curriculum, rng = open_curriculum(sys.argv[1]), np.random.default_rng(int(sys.argv[2]))
for number in range(int(sys.argv[3])):
    task = curriculum.sample(rng)
    outcome = Outcome(task.instance_id, int(rng.integers(5)), 4, f"step-{number}")
    curriculum.observe(as_group(outcome, task))
    print(number, flush=True)
"""


def group(curriculum, task_id, solved, episodes=4, policy="p1"):
    return as_group(Outcome(task_id, solved, episodes, policy), curriculum.get(task_id))


def draws(curriculum, seed, n=24):
    rng = np.random.default_rng(seed)
    return [curriculum.sample(rng).instance_id for _ in range(n)]


def test_it_is_a_task_source_by_name(write_spec, at_home):
    source = resolve(f"curriculum:{write_spec()}")
    assert [task.instance_id for task in source] == [f"tiny-{n}" for n in range(6)]
    drawn = source.sample(np.random.default_rng(0))
    assert drawn == source.get(drawn.instance_id)
    assert drawn.patch  # the whole row, not what samplers see
    assert len(source.digest) == 64
    with pytest.raises(NotFoundError, match="did you mean 'tiny-"):
        source.get("tiny-9")
    assert not source.state_path.exists()  # looking writes nothing


def test_the_same_seed_draws_the_same_until_something_was_learned(write_spec):
    spec = write_spec()
    one, two = open_curriculum(spec), open_curriculum(spec)
    before = draws(one, 1)
    assert draws(two, 1) == draws(one, 1) == before
    for n in range(5):
        one.observe(group(one, f"tiny-{n}", 4))
    after = draws(one, 1)
    assert after != before
    assert draws(two, 1) == after  # it has read what the other wrote
    assert draws(open_curriculum(spec), 1) == after  # as has one that begins now
    assert after.count("tiny-5") > before.count("tiny-5")


def test_what_it_learns_is_kept_with_policy_and_expectation(write_spec):
    curriculum = open_curriculum(write_spec())
    curriculum.policy_version = "step-7"
    curriculum.observe(group(curriculum, "tiny-0", 1, policy=""))
    curriculum.observe(group(curriculum, "tiny-0", 4, policy="step-8"))
    again = open_curriculum(str(curriculum.spec.path))
    again.refresh()
    first, second = again.history
    assert (first.policy, second.policy) == ("step-7", "step-8")
    assert 0 < second.predicted < first.predicted < 1
    (known,) = again.expectations([again.get("tiny-0")])
    assert (known.solved, known.episodes) == (5, 8)
    assert known.low < known.chance < known.high


def test_options_and_pool_may_change_and_what_was_learned_stays(write_spec, at_home):
    one = open_curriculum(write_spec())
    one.observe(group(one, "tiny-0", 1))
    one.observe(group(one, "tiny-1", 1))
    few = at_home / "few.jsonl"
    write_rows(few, [task for task in one if task.instance_id != "tiny-0"])
    other = open_curriculum(write_spec('seed = 1\n[pool]\ntasks = ["few.jsonl"]'))
    draws(other, 0)
    assert [outcome.task_id for outcome in other.history] == ["tiny-1"]
    assert other.digest != one.digest  # a run pinned to the one is not gone on with by the other


def test_the_state_of_another_curriculum_is_refused(write_spec):
    one = open_curriculum(write_spec('state = "log.sqlite"'))
    one.observe(group(one, "tiny-0", 1))
    other = open_curriculum(write_spec('state = "log.sqlite"', name="other"))
    with pytest.raises(UsageError, match=r"the curriculum own, not the curriculum other"):
        draws(other, 0)


def test_a_mastered_pool_ends_with_an_error_if_the_spec_says_so(write_spec):
    curriculum = open_curriculum(write_spec("[pool]\ntasks = ['tiny']\nmastered = 0.8"))
    draws(curriculum, 0)
    for _ in range(3):
        for n in range(6):
            curriculum.observe(group(curriculum, f"tiny-{n}", 8, 8))
    with pytest.raises(UsageError, match=r"pool is exhausted: \d+% .* `codegym generate`"):
        curriculum.sample(np.random.default_rng(0))


def _worker(spec, seed, count):
    command = [sys.executable, "-c", WORKER, spec, str(seed), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_workers_observe_at_once_and_all_know_all(write_spec):
    spec = write_spec()
    workers = [_worker(spec, seed, 8) for seed in range(3)]
    for worker in workers:
        worker.communicate()
        assert worker.returncode == 0
    one, two = open_curriculum(spec), open_curriculum(spec)
    assert draws(one, 3) == draws(two, 3)
    assert len(one.history) == 24
    assert one.sampler.state_dict() == two.sampler.state_dict()


def test_a_killed_worker_goes_on_exactly_where_it_was(write_spec, at_home):
    spec = write_spec()
    with _worker(spec, 0, 10_000) as worker:
        for _ in range(8):
            worker.stdout.readline()
        worker.send_signal(signal.SIGKILL)
        told = 8 + len(worker.stdout.read().split())
    killed = open_curriculum(spec)
    killed.refresh()
    assert len(killed.history) >= told
    # One that was never killed and saw the same is in the same state.
    path = killed.state_path
    whole = open_curriculum(spec)
    for outcome in killed.history:
        whole._learn(outcome)
    assert json.dumps(killed.sampler.state_dict()) == json.dumps(whole.sampler.state_dict())
    assert killed.sampler.metrics()["episodes"] == 4 * len(killed.history)
    killed.observe(group(killed, "tiny-0", 2))
    assert len(open_curriculum(spec).history) == 0  # nothing is read before it is needed
    assert path.exists()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_worker_learns_from_its_parent(write_spec):
    curriculum = open_curriculum(write_spec())
    curriculum.observe(group(curriculum, "tiny-0", 4))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            curriculum.observe(group(curriculum, "tiny-1", 4))
            status = 0 if len(curriculum.history) == 2 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    curriculum.refresh()
    assert [outcome.task_id for outcome in curriculum.history] == ["tiny-0", "tiny-1"]
