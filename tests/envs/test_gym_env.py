"""The Gymnasium env, made as users make it."""

import contextlib
import copy
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import codegym
from codegym.envs.gym_env import CodeGymEnv
from codegym.errors import NotFoundError, SandboxError, TaskError, UsageError

ID = "CodeGym/FixTests-v0"
SUBMIT = codegym.call("submit")
INFO = {
    "task_id": str,
    "kind": str,
    "env_digest": str,
    "steps": int,
    "fault": str,
    "attestation": dict,
    "integrity": int,
}


@pytest.fixture
def make(home, at_home):
    made = []

    def make(**arguments):
        made.append(gym.make(ID, tasks="tiny", **arguments))
        return made[-1]

    yield make
    for env in made:
        env.close()


def check_info(info, graded):
    assert set(info) == {*INFO, "grade"}
    for key, kind in INFO.items():
        assert type(info[key]) is kind, key
    assert (info["grade"] is not None) == graded


def test_an_episode_as_the_readme_has_it(make, fix):
    env = make()
    obs, info = env.reset(seed=7)
    assert obs in env.observation_space
    assert info["task_id"] in {"tiny-0", "tiny-1", "tiny-hidden"}
    assert info["kind"] == "FixTests"
    check_info(info, graded=False)
    obs, reward, terminated, truncated, info = env.step(codegym.call("bash", command="pytest -q"))
    assert "FAILED tests/test_order.py::test_median_of_even" in obs["output"]
    assert (reward, terminated, truncated, info["steps"]) == (0.0, False, False, 1)
    check_info(info, graded=False)
    env.step(fix)
    obs, reward, terminated, truncated, info = env.step(SUBMIT)
    assert obs in env.observation_space
    assert (reward, terminated, truncated) == (1.0, True, False)
    check_info(info, graded=True)


def test_gymnasiums_own_check_passes(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(max_steps=3).unwrapped)


def test_a_seed_gives_the_same_tasks_and_first_observations(make):
    def drawn(env, seed):
        first = env.reset(seed=seed)
        rest = [env.reset() for _ in range(3)]
        return [(obs, info["task_id"], info["env_digest"]) for obs, info in (first, *rest)]

    env = make()
    tasks = drawn(env, 3)
    assert drawn(env, 3) == tasks
    assert drawn(make(), 3) == tasks
    assert any(drawn(env, seed) != tasks for seed in range(5))


def test_a_task_is_chosen_by_name(make):
    env = make()
    assert env.reset(options={"task_id": "tiny-1"})[1]["task_id"] == "tiny-1"
    with pytest.raises(NotFoundError, match="did you mean"):
        env.reset(options={"task_id": "tiny-11"})
    with pytest.raises(NotFoundError, match="reset option named 'task'"):
        env.reset(options={"task": "tiny-1"})
    with pytest.raises(UsageError, match="expected a task's id"):
        env.reset(options={"task_id": 3})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tasks": "tny"}, "no environment, pack or task named 'tny'"),
        ({"tools": ["bsh"]}, "did you mean 'bash'"),
        ({"reward": "x"}, "no reward"),
        ({"network": "pip"}, "network"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_wrong_options_are_told_at_once(home, at_home, arguments, says):
    with pytest.raises(UsageError, match=says):
        gym.make(ID, **{"tasks": "tiny", **arguments})


def test_an_unknown_option_is_refused(home, at_home):
    with pytest.raises((TypeError, UsageError), match="max_stepz"):
        gym.make(ID, tasks="tiny", max_stepz=3)


def test_an_unknown_sandbox_is_told_at_the_reset(make):
    env = make(sandbox="bubblewrp")
    with pytest.raises(UsageError, match="did you mean 'bubblewrap'"):
        env.reset()


def test_an_unknown_render_mode_is_refused(source):
    with pytest.raises(UsageError, match="render mode"):
        CodeGymEnv(source, render_mode="rgb_array")


def test_the_spec_goes_through_json_and_copies(make):
    env = make(tools=["bash", "submit"], max_steps=4)
    text = env.spec.to_json()
    json.loads(text)
    specs = [gym.envs.registration.EnvSpec.from_json(text), copy.deepcopy(env.spec)]
    specs.append(pickle.loads(pickle.dumps(env.spec)))
    for spec in specs:
        twin = gym.make(spec)
        assert [each["function"]["name"] for each in twin.unwrapped.tool_schemas] == [
            "bash",
            "submit",
        ]
        assert twin.observation_space == env.observation_space
        twin.close()


def test_tool_schemas_have_the_form_that_chat_models_take(make):
    schemas = make().unwrapped.tool_schemas
    names = [schema["function"]["name"] for schema in schemas]
    assert names == ["bash", "view", "edit", "write", "search", "run_tests", "submit"]
    for schema in schemas:
        assert schema["type"] == "function"
        assert set(schema["function"]) == {"name", "description", "parameters"}
        assert schema["function"]["parameters"]["type"] == "object"
    json.dumps(schemas)
    schemas.clear()
    assert make().unwrapped.tool_schemas


def test_the_transcript(make, fix):
    env = make(render_mode="ansi")
    env.reset(seed=0)
    env.step(codegym.call("bash", command="echo hello; (exit 3)"))
    env.step(fix)
    text = env.render()
    assert "--- 1: bash: echo hello; (exit 3)" in text
    assert "exit 3" in text
    assert "hello" in text
    env.step(SUBMIT)
    assert "return 1" in env.render()


def test_human_rendering_prints_as_it_goes(make, capfd):
    env = make(render_mode="human")
    env.reset(seed=0)
    assert "Failing tests (1)" in capfd.readouterr().out
    env.step(codegym.call("bash", command="echo '[red]hello'"))
    assert "[red]hello" in capfd.readouterr().out
    assert env.render() is None


def test_without_a_render_mode_nothing_is_rendered(make):
    env = make()
    env.reset(seed=0)
    assert env.unwrapped.render() is None


def test_a_step_after_the_end_is_refused_and_a_reset_goes_on(make):
    env = make()
    env.reset(seed=0)
    env.step(SUBMIT)
    with pytest.raises(UsageError, match="reset"):
        env.step(SUBMIT)
    env.reset()
    assert not env.step(codegym.call("bash", command="true"))[2]
    env.close()
    env.reset()
    assert env.step(SUBMIT)[2]


def test_close_is_idempotent_and_leaves_no_process(home, at_home):
    script = """
import gymnasium as gym, codegym, os
env = gym.make("CodeGym/FixTests-v0", tasks="tiny")
env.reset(seed=0)
env.step(codegym.call("bash", command="sleep 1000 &"))
env.close()
env.close()
children = f"/proc/{os.getpid()}/task"
print([open(f"{children}/{task}/children").read() for task in os.listdir(children)])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert set(done.stdout) <= set("['', ]\n"), done.stdout
    assert done.stderr == ""


def test_an_env_that_was_not_closed_leaves_nothing_behind(home, at_home):
    script = """
import gymnasium as gym, codegym
env = gym.make("CodeGym/FixTests-v0", tasks="tiny")
env.reset(seed=0)
out = env.step(codegym.call("bash", command="sleep 1234567 & echo started"))
print(out[0]["output"])
"""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert "started" in done.stdout
    assert not [line for line in _commands() if "1234567" in line]


def _commands():
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                yield (entry / "cmdline").read_bytes().decode(errors="replace")


def _in_child(env, pipe):
    obs, _ = env.reset(seed=1)
    pipe.send((obs["instruction"], env.step(codegym.call("bash", command="echo child"))[0]))
    env.close()
    pipe.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_uses_a_loop_of_its_own_and_leaves_the_parents_alone(make):
    env = make()
    env.reset(seed=1)
    env.step(codegym.call("bash", command="export WHO=parent"))
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(env, theirs))
    child.start()
    theirs.close()
    instruction, seen = ours.recv()
    child.join(20)
    assert child.exitcode == 0
    assert "Failing tests" in instruction
    assert seen["output"] == "child\n"
    assert env.step(codegym.call("bash", command="echo $WHO"))[0]["output"] == "parent\n"


def run_script(script, **arguments):
    command = [sys.executable, "-W", "ignore", "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, **arguments
    )


def test_a_forked_child_that_ends_leaves_the_parent_as_it_was(home, at_home):
    script = """
import gymnasium as gym, codegym, os, sys
env = gym.make("CodeGym/FixTests-v0", tasks="tiny")
env.reset(seed=0)
child = os.fork()
if child == 0:
    sys.exit(0)  # and runs what is registered for the exit
os.waitpid(child, 0)
print(env.step(codegym.call("bash", command="echo well"))[0]["output"])
env.close()
"""
    assert run_script(script).stdout.strip() == "well"


def test_a_killed_parent_leaves_no_sandbox_though_its_fork_lives(home, at_home):
    script = """
import gymnasium as gym, codegym, os, signal, time
env = gym.make("CodeGym/FixTests-v0", tasks="tiny")
env.reset(seed=0)
env.step(codegym.call("bash", command="sleep 7654321 & true"))
child = os.fork()
if child == 0:
    time.sleep(100)
    os._exit(0)
print(child, flush=True)
os.close(1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.wait(30)
    try:
        deadline = time.monotonic() + 20
        while [line for line in _commands() if "7654321" in line and "gymnasium" not in line]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(child, signal.SIGKILL)


def test_an_interrupt_leaves_nothing_running_and_the_env_usable(make):
    env = make()
    env.reset(seed=0)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        env.step(codegym.call("bash", command="sleep 3456789"))
    with pytest.raises(UsageError, match="reset"):
        env.step(SUBMIT)
    env.reset()
    assert not [line for line in _commands() if "3456789" in line]
    assert env.step(codegym.call("bash", command="echo well"))[0]["output"] == "well\n"


class Failing:
    """Stands before a real sandbox and fails: infrastructure does not break when asked to."""

    def __init__(self, box, error):
        self._box, self._error = box, error

    def __getattr__(self, name):
        return getattr(self._box, name)

    async def shell(self, *_, **__):
        raise self._error


@pytest.mark.parametrize(
    ("error", "fault"),
    [(SandboxError("the sandbox is gone"), "sandbox"), (TaskError("tiny-0", "broken"), "task")],
)
def test_a_fault_ends_the_episode_truncated_and_is_no_score(make, error, fault):
    env = make()
    env.reset(seed=0)
    episode = env.unwrapped._episode
    episode._box = Failing(episode._box, error)
    obs, reward, terminated, truncated, info = env.step(codegym.call("bash", command="true"))
    assert obs in env.observation_space
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["fault"] == fault
    check_info(info, graded=False)
    env.reset()
    assert env.step(SUBMIT)[4]["fault"] == ""
