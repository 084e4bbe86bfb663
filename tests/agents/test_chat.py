"""The chat policy against an endpoint on loopback, alone and in whole runs."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from support import make_tiny_home

from codegym.agents import load_policy
from codegym.agents.chat import Chat, endpoint
from codegym.envs.options import EpisodeOptions
from codegym.envs.tools import load_tools
from codegym.errors import NotFoundError, UnavailableError, UsageError
from codegym.loop import RunConfig, run
from codegym.runs import open_run
from codegym.types import Action, History, Observation, Turn, Usage, call

TOOLS = load_tools("default")
FIX = {
    "path": "src/tinycalc/order.py",
    "old": "    return ordered[len(ordered) // 2]\n",
    "new": (
        "    middle = len(ordered) // 2\n"
        "    if len(ordered) % 2 == 0:\n"
        "        return (ordered[middle - 1] + ordered[middle]) / 2\n"
        "    return ordered[middle]\n"
    ),
}


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(endpoint, "_BASE_DELAY_SEC", 0.001)


@pytest.fixture
async def policy(server):
    made = []

    def make(**options):
        made.append(Chat("tiny-model", base_url=server.url, **options))
        return made[-1]

    yield make
    for each in made:
        await each.aclose()


def history(turns=(), seed=3):
    first = Observation("Mend it.", "", 50)
    return History("t", TOOLS.functions, first, tuple(turns), seed)


def turn(output="out", text=None, usage=None):
    action = Action(text or call("bash", command="ls"), usage=usage)
    return Turn(action, Observation("Mend it.", output, 40, 0), 0.0, 0.1)


async def test_a_native_call_becomes_an_action(server, policy, answers):
    server.script = [answers.native("bash", {"command": "ls"}, content="I look.")]
    action = await policy().act(history())
    assert replace(action, lost_sec=0.0) == Action(
        call("bash", command="ls"), usage=Usage(100, 10), thought="I look.", note=""
    )
    (request,) = server.requests
    assert request["model"] == "tiny-model"
    assert [tool["function"]["name"] for tool in request["tools"]] == list(TOOLS.tools)
    assert (request["max_tokens"], request["stream"]) == (4096, False)
    assert not {"temperature", "top_p", "seed"} & set(request)


async def test_sampling_options_are_sent_and_seeds_differ_by_episode_and_turn(
    server, policy, answers
):
    server.script = [answers.native("submit")]
    chat = policy(temperature=0.5, top_p=0.9, seed=7, max_tokens=50)
    for told in (history(), history(), history(seed=4), history([turn()])):
        await chat.act(told)
    first = server.requests[0]
    assert (first["temperature"], first["top_p"], first["max_tokens"]) == (0.5, 0.9, 50)
    seeds = [request["seed"] for request in server.requests]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 3
    assert all(0 <= seed < 2**31 for seed in seeds)


async def test_the_same_history_gives_the_same_request(server, policy, answers):
    server.script = [answers.native("submit")]
    told = history([turn("a" * 500), turn("b")])
    busy = policy()
    await busy.act(history([turn("something else")]))
    await busy.act(told)
    await policy().act(told)
    assert server.requests[1] == server.requests[2]


async def test_an_endpoint_without_tool_calls_is_asked_in_text(server, policy, answers):
    reply = answers.text(f"So:\n```json\n{call('bash', command='ls')}\n```")
    server.script = [answers.error(400, "tiny-model does not support tools"), reply]
    chat = policy()
    action = await chat.act(history())
    assert (action.text, action.thought) == (call("bash", command="ls"), "So:")
    assert "in text" in action.note
    await chat.act(history([turn()]))
    assert ["tools" in request for request in server.requests] == [True, False, False]
    assert "```json" in server.requests[1]["messages"][0]["content"]


async def test_native_form_insisted_on_is_an_error_where_there_is_none(server, policy, answers):
    server.script = [answers.error(400, "tiny-model does not support tools")]
    with pytest.raises(UsageError, match=r"refuses the request.*does not support tools"):
        await policy(tool_form="native").act(history())


async def test_text_form_can_be_asked_for(server, policy, answers):
    server.script = [answers.text(call("submit"))]
    assert (await policy(tool_form="text").act(history())).text == call("submit")
    assert "tools" not in server.requests[0]


async def test_an_endpoint_that_wants_the_other_limit_gets_it(server, policy, answers):
    server.script = [
        answers.error(400, "Unsupported parameter: use 'max_completion_tokens' instead"),
        answers.native("submit"),
    ]
    await policy().act(history())
    assert "max_tokens" not in server.requests[1]
    assert server.requests[1]["max_completion_tokens"] == 4096


async def test_a_reply_without_a_call_is_an_action_that_says_so(server, policy, answers):
    server.script = [answers.text("I am done."), answers.text(None, finish="length")]
    action = await policy().act(history())
    assert (action.text, action.note) == ("I am done.", "no call")
    action = await policy().act(history())
    assert (action.text, action.note) == ("", "no call; cut off")


async def test_tokens_are_estimated_where_the_endpoint_does_not_count(server, policy, answers):
    server.script = [answers.native("submit", usage=None)]
    action = await policy().act(history())
    assert action.usage.prompt_tokens > 100
    assert "estimated" in action.note


def limited(answers, most):
    """An endpoint that reads so many characters."""

    def answer(request):
        if len(json.dumps(request["messages"])) > most:
            return answers.error(400, "maximum context length is small; reduce the length")
        return answers.native("submit")

    return answer


async def test_a_context_that_overflows_loses_its_oldest_outputs(server, policy, answers):
    turns = [turn(f"{number} " + "x" * 3000) for number in range(20)]
    server.script = limited(answers, 40_000)
    action = await policy().act(history(turns))
    assert action.note.startswith("context full: output of the ")
    assert len(server.requests) <= 6
    sent = server.requests[-1]["messages"]
    assert sent[1]["content"] == "Mend it."
    assert "x" * 3000 in sent[-1]["content"]
    assert "left out here" in sent[3]["content"]
    # Where the size is known, nothing is refused.
    server.requests.clear()
    again = await policy(context_tokens=16_000, max_tokens=3000).act(history(turns))
    assert len(server.requests) == 1
    assert again.note.startswith("context full")


async def test_a_context_that_nothing_helps_ends_the_episode(server, policy, answers):
    server.script = limited(answers, 10)
    action = await policy().act(history([turn("x" * 9000)] * 5))
    assert action.text == call("submit")
    assert "nothing more could be left out" in action.note
    with pytest.raises(UsageError, match="task itself does not fit"):
        await policy().act(history())
    server.script = limited(answers, 9000)
    action = await policy().act(history([turn("x" * 9000)]))
    assert action.note == "context full: the last outputs cut"


async def test_an_episode_that_costs_too_much_is_submitted(server, policy, answers):
    server.script = [answers.native("bash", {"command": "ls"})]
    chat = policy(max_episode_tokens=200)
    cheap = history([turn(usage=Usage(100, 50))])
    assert json.loads((await chat.act(cheap)).text)["name"] == "bash"
    dear = await chat.act(history([turn(usage=Usage(100, 50))] * 2))
    assert (dear.text, len(server.requests)) == (call("submit"), 1)
    assert dear.note == "max_episode_tokens: 300 spent; submitted"


async def test_a_run_that_costs_too_much_stops(server, policy, answers):
    server.script = [answers.native("submit")]
    chat = policy(max_run_tokens=400)
    chat.charge(250)
    await chat.act(history())
    await chat.act(history())
    with pytest.raises(UnavailableError, match=r"470 tokens of max_run_tokens=400.*same command"):
        await chat.act(history())
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"temperature": "-1"}, "temperature: must be at least 0"),
        ({"top_p": "0"}, "top_p"),
        ({"max_tokens": "0"}, "max_tokens"),
        ({"timeout_sec": "nan"}, "timeout_sec"),
        ({"context_tokens": "100"}, "more than max_tokens"),
        ({"tool_form": "xml"}, "'auto', 'native' or 'text'"),
        ({"base_url": "localhost"}, "no address"),
    ],
)
def test_options_are_checked(options, told):
    with pytest.raises(UsageError, match=told):
        load_policy("chat:m", (), {"base_url": "http://localhost/v1", **options})


def test_names_and_addresses(monkeypatch):
    for name in ("CODEGYM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="--base-url"):
        load_policy("chat:m", ())
    with pytest.raises(NotFoundError, match="did you mean 'temperature'"):
        load_policy("chat:m", (), {"temprature": "1"})
    with pytest.raises(UsageError, match="needs the option 'model'"):
        load_policy("chat", ())
    with pytest.raises(UsageError, match="chat:MODEL"):
        load_policy("chat:", (), {"base_url": "http://a/v1"})
    monkeypatch.setenv("OPENAI_BASE_URL", "http://a/v1")
    policy = load_policy("chat:qwen2.5:7b", ())
    assert isinstance(policy, Chat)
    assert (policy.model, policy._endpoint.base_url) == ("qwen2.5:7b", "http://a/v1")
    monkeypatch.setenv("CODEGYM_BASE_URL", "http://b/v1")
    assert load_policy("chat:m", ())._endpoint.base_url == "http://b/v1"


async def test_without_its_library_the_extra_is_named(monkeypatch, server, policy):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(UnavailableError, match=r"pip install 'codegym\[chat\]'"):
        await policy().act(history())


# Whole runs


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=3)


def config(out, server, **options):
    given = {"base_url": server.url, "max_retries": "0", **options}
    played = EpisodeOptions(kind="FixIssue")
    return RunConfig(
        "CodeGym/FixIssue-v0", out, "chat:m", "tiny", policy_options=given, options=played
    )


def solver(answers):
    """A model that talks first, then repairs, then submits."""

    def answer(request):
        turns = sum(message["role"] == "assistant" for message in request["messages"])
        if turns == 0:
            return answers.text("Let me think about it.")
        return answers.native("edit", FIX) if turns == 1 else answers.native("submit")

    return answer


def test_codegym_run_plays_a_model_from_end_to_end(home, tmp_path, server, answers):
    server.script = solver(answers)
    out, key = tmp_path / "run", "sk-do-not-keep-me"
    command = [
        *(sys.executable, "-m", "codegym", "run", "CodeGym/FixIssue-v0", "--tasks", "tiny"),
        *("--policy", "chat:m", "--base-url", server.url, "--out", str(out), "--json"),
    ]
    env = {**os.environ, "OPENAI_API_KEY": key}
    done = subprocess.run(
        command, cwd=home, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["solve_rate"], summary["episodes"], summary["faults"]) == (1.0, 3, 0)
    assert (summary["tokens"], summary["prompt_tokens"], summary["steps"]) == (90, 900, 9)
    assert server.headers[0]["authorization"] == f"Bearer {key}"
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert [path for path in files if key.encode() in path.read_bytes()] == []
    first = open_run(out).episode(0).trajectory.turns[0]
    assert first.observation.output.startswith("malformed action")
    reminded = [request["messages"] for request in server.requests if len(request["messages"]) > 2]
    assert "held no tool call" in reminded[0][3]["content"]


async def test_an_endpoint_that_fails_is_no_score_and_is_retried(
    home, tmp_path, server, answers, monkeypatch
):
    monkeypatch.chdir(home)
    good, failed = solver(answers), []

    def answer(request):
        if len(request["messages"]) > 4 and not failed:
            failed.append(request)
            return answers.error(500, "oops")
        return good(request)

    server.script = answer
    summary = await run(config(tmp_path, server))
    assert (summary.graded, summary.solved, summary.policy_faults, summary.faults) == (2, 2, 1, 1)
    (broken,) = [record for record in open_run(tmp_path).episodes() if record.fault]
    assert (broken.fault, broken.grade, broken.tokens) == ("policy", None, 20)
    assert "status 500: oops" in broken.error
    # Given again, from another port and with more patience, only that one is played.
    asked = len(server.requests)
    summary = await run(config(tmp_path, server, base_url=server.url + "/", max_retries="2"))
    assert (summary.graded, summary.solved, summary.faults) == (3, 3, 0)
    assert len(server.requests) == asked + 3
    with pytest.raises(UsageError, match=r"sampling\.temperature"):
        await run(config(tmp_path, server, temperature="1"))


async def test_a_run_whose_tokens_are_spent_goes_on_with_more(
    home, tmp_path, server, answers, monkeypatch
):
    monkeypatch.chdir(home)
    server.script = solver(answers)
    with pytest.raises(UnavailableError, match="max_run_tokens=500"):
        await run(config(tmp_path, server, max_run_tokens="500"))
    done = open_run(tmp_path).episodes()
    assert 0 < len(done) < 3
    with pytest.raises(UnavailableError, match="max_run_tokens"):  # what was spent is known
        await run(config(tmp_path, server, max_run_tokens="300"))
    summary = await run(config(tmp_path, server, max_run_tokens="5000"))
    assert (summary.graded, summary.solved) == (3, 3)


async def test_one_that_is_down_stops_the_run_with_a_plain_error(home, tmp_path, monkeypatch):
    monkeypatch.chdir(home)

    class Nowhere:
        url = "http://127.0.0.1:9/v1"

    stopped = replace(config(tmp_path, Nowhere), samples=2)
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1:9/v1 failed.*ConnectError.*in a row"):
        await run(stopped)
    assert {record.fault for record in open_run(tmp_path).episodes()} == {"policy"}
