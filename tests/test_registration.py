"""The ids that Gymnasium knows, and how light it is to import them."""

import copy
import json
import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec
from support import make_tiny_home

import codegym
from codegym import registration
from codegym.errors import NotFoundError, UsageError
from codegym.tasks import write_quarantine
from codegym.types import call

IDS = sorted(registration.IDS)


def fresh(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("env_id", IDS)
def test_an_id_is_registered(env_id):
    spec = gym.spec(env_id)
    assert spec.nondeterministic
    assert spec.max_episode_steps is None
    assert spec.kwargs == {"kind": registration.kind_of(env_id)}


@pytest.mark.parametrize("env_id", IDS)
def test_a_spec_round_trips_through_json(env_id):
    spec = copy.deepcopy(gym.spec(env_id))  # the registry is shared by all tests
    spec.kwargs = {**spec.kwargs, "tasks": "kvlog", "tools": ["bash", "submit"], "max_steps": 3}
    again = EnvSpec.from_json(spec.to_json())
    assert again == spec
    assert json.loads(spec.to_json())["entry_point"] == "codegym.registration:make_env"


def test_registering_again_changes_nothing(recwarn):
    before = gym.spec(IDS[0])
    registration.register()
    assert gym.spec(IDS[0]) is before
    assert not recwarn


def test_an_unknown_id_says_the_nearest():
    with pytest.raises(NotFoundError, match="did you mean 'CodeGym/FixTests-v0'"):
        registration.kind_of("CodeGym/FixTest-v0")


def test_the_module_form_of_an_id_registers():
    """``module:id`` imports the module, in a process that has not done so."""
    code = (
        "import gymnasium as gym\n"
        "try: gym.make('codegym:CodeGym/FixTests-v0', tasks='no-such-source')\n"
        "except ValueError as error: print(type(error).__name__)\n"
    )
    assert fresh(code) == "NotFoundError\n"


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_bad_options_are_told(make):
    with pytest.raises(NotFoundError, match="no-such-source"):
        make("CodeGym/FixTests-v0", tasks="no-such-source")
    with pytest.raises(UsageError, match="no such file"):
        make("CodeGym/FixTests-v0", tasks="sealed:x")
    with pytest.raises(NotFoundError, match="named 'x'; a curriculum is a TOML file"):
        make("CodeGym/FixTests-v0", tasks="curriculum:x")


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tasks": ["kvlog"]}, r"tasks: expected the name .* a TaskSource, got \['kvlog'\]"),
        ({"tasks": 5}, "tasks: expected the name .*, got 5"),
        ({"reward": 3}, "reward: expected a name or module:attr, got 3"),
        ({"gamma": "much"}, r"gamma: must be a number in \(0, 1\], got 'much'"),
        ({"max_episode_sec": None}, "max_episode_sec: must be a number above 0, got None"),
        ({"tools": 5}, "tools: expected .* a list of names, got 5"),
    ],
)
def test_a_value_of_another_type_is_told(make, options, told, tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    with pytest.raises(UsageError, match=told):
        make("CodeGym/FixTests-v0", **{"tasks": "tiny", **options})


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_that_all_tasks_are_quarantined_is_told(make, tmp_path, monkeypatch):
    home = make_tiny_home(tmp_path, tasks=2)
    monkeypatch.chdir(home)
    rows = home / ".codegym/environments/tiny/tasks.jsonl"
    write_quarantine(rows, {"tiny-0": "it fell", "tiny-1": "so did it"})
    where = rows.with_name("quarantine.jsonl")
    with pytest.raises(UsageError, match=f"all 2 are quarantined.*{where}.*tiny-0: it fell"):
        make("CodeGym/FixTests-v0", tasks="tiny")


def test_importing_codegym_is_light_and_silent():
    code = (
        "import sys, codegym; ours = sorted({'.'.join(name.split('.')[:2]) for name in sys.modules "
        "if name.startswith('codegym.')}); print(','.join(ours)); "
        "print(sorted({'rich', 'typer', 'pydantic', 'git', 'docker', 'torch'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "codegym.errors,codegym.registration,codegym.types,codegym.version\n[]\n"
    assert out.stderr == ""


def test_call_writes_an_action():
    assert codegym.call is call
    assert json.loads(codegym.call("bash", command="ls")) == {
        "name": "bash",
        "arguments": {"command": "ls"},
    }


def test_an_env_is_made_again_from_its_spec_as_json(tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    env = gym.make("CodeGym/FixTests-v0", tasks="tiny", max_steps=5, tools=["bash", "submit"])
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    for each in (env, again):
        tools = [schema["function"]["name"] for schema in each.unwrapped.tool_schemas]
        assert tools == ["bash", "submit"]
        each.close()
    assert again.spec.to_json() == env.spec.to_json()


def test_make_vec_takes_ours_and_refuses_wrappers(tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    envs = gym.make_vec("CodeGym/FixTests-v0", num_envs=3, tasks="tiny", max_steps=5)
    assert type(envs).__name__ == "CodeGymVectorEnv"
    assert envs.num_envs == 3
    envs.close()
    with pytest.raises(gym.error.Error, match="wrappers"):
        gym.make_vec(
            "CodeGym/FixTests-v0", tasks="tiny", wrappers=[gym.wrappers.TimeAwareObservation]
        )


def test_a_source_itself_is_taken_too(tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    source = registration.resolve("tiny")
    env = gym.make("CodeGym/Tasks-v0", tasks=source)
    assert env.unwrapped.tasks is source
    env.close()
