"""The policy: every action has its tokens, a full context is said, and a run pins the weights."""

import json
import os
import shutil
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from codegym.agents.lm import LanguageModel, Renderer, TokenPolicy  # noqa: E402
from codegym.agents.lm.loading import digest, load_tokenizer  # noqa: E402
from codegym.agents.load import load_policy, pinned_options  # noqa: E402
from codegym.errors import DataError, NotFoundError, UnavailableError, UsageError  # noqa: E402
from codegym.types import (  # noqa: E402
    History,
    Observation,
    SamplingParams,
    TokenTrace,
    Turn,
    call,
)

pytestmark = pytest.mark.train

FIRST = Observation("Fix it.", "", 9)
PARAMS = SamplingParams(max_tokens=100)


class Scripted:
    """An engine that says what it is given, as a model would; asked prompts are kept."""

    version, note = "1", ""

    def __init__(self, renderer, *says, context_tokens=4000):
        self.context_tokens, self.asked = context_tokens, []
        self._says = [renderer.completion(each) for each in says]

    async def generate(self, prompt_ids, params):
        self.asked.append((tuple(prompt_ids), params))
        said = self._says[(len(self.asked) - 1) % len(self._says)][: params.max_tokens]
        return TokenTrace(tuple(prompt_ids), said, (-1.0,) * len(said))


async def play(policy, tools, outputs, first=FIRST):
    history = History("t", tools, first, (), 3)
    for output in outputs:
        action = await policy.act(history)
        turn = Turn(action, Observation("Fix it.", output, 5, 0), 0.0, 0.1)
        history = replace(history, turns=(*history.turns, turn))
    return history


@pytest.fixture
def tokenizer(tokenizers):
    return tokenizers["hermes"]


@pytest.fixture
def renderer(tokenizer, tools):
    return Renderer(tokenizer, tools)


async def test_each_turn_goes_on_from_the_one_before(tokenizer, renderer, tools):
    engine = Scripted(renderer, call("bash", command="ls"), "hm")
    history = await play(TokenPolicy(engine, tokenizer, PARAMS), tools, ["a", "b", "c"])
    before = ()
    for turn, (asked, params) in zip(history.turns, engine.asked, strict=True):
        assert turn.action.tokens.prompt_ids == asked
        assert asked[: len(before)] == before
        assert params.max_tokens == 100
        before = asked + turn.action.tokens.completion_ids
    assert [turn.action.text for turn in history.turns][1] == "hm"
    assert [turn.action.note for turn in history.turns] == ["", "no call", ""]
    assert "Your reply held no tool call" in renderer.decode(engine.asked[2][0])


async def test_seeds_follow_from_episode_and_turn(tokenizer, renderer, tools):
    def seeds(engine):
        return [params.seed for _, params in engine.asked]

    engines = [Scripted(renderer, call("run_tests")) for _ in range(4)]
    await play(TokenPolicy(engines[0], tokenizer, PARAMS), tools, ["a"] * 3)
    await play(TokenPolicy(engines[1], tokenizer, PARAMS), tools, ["b"] * 3)
    await play(TokenPolicy(engines[2], tokenizer, replace(PARAMS, seed=1)), tools, ["a"] * 3)
    assert len(set(seeds(engines[0]))) == 3
    assert seeds(engines[0]) == seeds(engines[1])
    assert not set(seeds(engines[0])) & set(seeds(engines[2]))


async def test_a_reply_that_was_cut_off_is_told_so(tokenizer, renderer, tools):
    engine = Scripted(renderer, call("bash", command="ls " * 300))
    history = await play(TokenPolicy(engine, tokenizer, PARAMS), tools, ["a", "b"])
    assert history.turns[0].action.note == "no call; cut off"
    assert "cut off before its tool call was complete" in renderer.decode(engine.asked[1][0])


async def test_a_full_context_begins_a_new_sequence_and_says_so(tokenizer, renderer, tools):
    first = len(renderer.prompt(History("t", tools, FIRST)))
    engine = Scripted(renderer, call("bash", command="ls"), context_tokens=first + 3000)
    outputs = [f"{n:03}" * 200 for n in range(12)]
    history = await play(TokenPolicy(engine, tokenizer, PARAMS), tools, outputs)
    full = [turn.action.note.startswith("context full") for turn in history.turns]
    assert 1 <= sum(full) <= 4  # not at every turn
    for number, (asked, _) in enumerate(engine.asked):
        assert len(asked) + 100 <= engine.context_tokens
        before = history.turns[number - 1].action.tokens if number else None
        goes_on = before is None or (
            asked[: len(before.prompt_ids) + len(before.completion_ids)]
            == before.prompt_ids + before.completion_ids
        )
        assert goes_on != full[number]
    text = renderer.decode(engine.asked[-1][0])
    assert text.count('{"command": "ls"}') == 11  # what was said stays
    assert "000" * 200 not in text
    assert "010" * 200 in text


async def test_a_context_that_cannot_be_made_to_fit_ends_the_episode(tokenizer, renderer, tools):
    first = len(renderer.prompt(History("t", tools, FIRST)))
    engine = Scripted(renderer, call("bash", command="ls"), context_tokens=first + 300)
    history = await play(TokenPolicy(engine, tokenizer, PARAMS), tools, ["x" * 100] * 12)
    ended = history.turns[-1].action
    assert ended.text == call("submit")
    assert "nothing more could be left out; submitted" in ended.note
    assert ended.tokens.completion_ids == ()
    small = TokenPolicy(engine, tokenizer, PARAMS, context_tokens=first + 50)
    with pytest.raises(UsageError, match="does not fit into"):
        await small.act(History("t", tools, FIRST))


async def test_a_model_without_a_template_says_so_once(tokenizers, tools):
    plain = tokenizers[""]
    engine = Scripted(Renderer(plain, tools), call("run_tests"))
    history = await play(TokenPolicy(engine, plain, PARAMS), tools, ["a", "b"])
    assert history.turns[0].action.note.startswith("no chat template: CodeGym's plain one")
    assert history.turns[1].action.note == ""


async def test_a_model_by_its_folder_samples_the_same_for_the_same_seed(tiny, tools):
    policy = load_policy(f"hf:{tiny}", (), {"max_tokens": "8", "device": "cpu"})
    assert isinstance(policy, LanguageModel)
    assert policy.version == digest(tiny)
    history = History("t", tools, FIRST, (), 3)
    actions = [await policy.act(history) for _ in range(2)]
    # To the token; a cache that is used changes the last digit of a log-probability.
    said = actions[0].tokens.completion_ids
    assert actions[1].tokens.completion_ids == said
    assert actions[1].tokens.logprobs == pytest.approx(actions[0].tokens.logprobs, abs=1e-4)
    assert len(actions[0].tokens.completion_ids) <= 8
    assert (await policy.act(replace(history, seed=4))).tokens != actions[0].tokens
    await policy.aclose()
    assert (await policy.act(history)).tokens.completion_ids == said
    await policy.aclose()
    assert pinned_options(policy, {"max_tokens": "8", "device": "cpu"}) == {"max_tokens": "8"}


def test_the_version_is_of_weights_and_tokenizer(tiny, tmp_path):
    other = shutil.copytree(tiny, tmp_path / "other")
    (other / "README.md").write_text("not of the model")
    assert digest(other) == digest(tiny)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        before = digest(other)
        with (other / name).open("ab") as file:
            file.write(b" ")
        assert digest(other) != before


def test_what_cannot_be_loaded_is_named(tiny, tmp_path, monkeypatch):
    absent = "cuda:99" if torch.cuda.is_available() else "cuda"
    with pytest.raises(UnavailableError, match=rf"device={absent}.*Use device=auto"):
        LanguageModel(str(tiny), device=absent)
    with pytest.raises(UsageError, match="device: 'gpu' is none"):
        LanguageModel(str(tiny), device="gpu")
    with pytest.raises(NotFoundError, match=r"no model named '\./nowhere'"):
        LanguageModel("./nowhere")
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)  # where `runs` is a folder, and nobody's name on the hub
    with pytest.raises(NotFoundError, match="no model named 'runs/none'"):
        LanguageModel("runs/none")
    with pytest.raises(DataError, match="no model's folder"):
        LanguageModel(str(tmp_path))
    broken = shutil.copytree(tiny, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"x")
    with pytest.raises(DataError, match="no causal model can be read"):
        LanguageModel(str(broken))
    for name, value in (
        ("temperature", -1),
        ("top_p", 0),
        ("max_tokens", 0),
        ("context_tokens", 5),
    ):
        with pytest.raises(UsageError, match=f"hf: {name}: must be"):
            LanguageModel(str(tiny), **{name: value})
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    with pytest.raises(UnavailableError, match="pip install 'codegym\\[vllm\\]'"):
        LanguageModel(str(tiny), engine="vllm")


async def test_a_run_with_a_tiny_model_is_recorded_with_its_tokens_and_resumed(
    tiny, tmp_path, monkeypatch
):
    from support import make_tiny_home

    from codegym.envs.options import EpisodeOptions
    from codegym.loop import RunConfig, run
    from codegym.runs import open_run

    monkeypatch.chdir(make_tiny_home(tmp_path))
    config = RunConfig(
        env_id="CodeGym/FixTests-v0",
        out=tmp_path / "run",
        policy=f"hf:{tiny}",
        tasks="tiny",
        samples=2,
        workers=2,
        policy_options={"max_tokens": "6"},
        options=EpisodeOptions(kind="FixTests", max_steps=3),
    )
    summary = await run(config)
    assert (summary.graded, summary.faults) == (2, 0)
    recorded = open_run(config.out)
    assert recorded.pins.policy_version == digest(tiny)
    renderer = Renderer(load_tokenizer(tiny), ())
    for number in range(2):
        before = ()
        turns = recorded.turns(number)
        assert len(turns) == 3
        for turn in turns:
            trace = turn.action.tokens
            assert trace.prompt_ids[: len(before)] == before
            assert len(trace.completion_ids) == len(trace.logprobs) > 0
            assert renderer.read(trace.completion_ids).action == turn.action.text
            before = trace.prompt_ids + trace.completion_ids
    other = shutil.copytree(tiny, tmp_path / "other")
    rows = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(rows | {"comment": 1}))
    with pytest.raises(UsageError, match="policy"):
        await run(replace(config, policy=f"hf:{other}"))


def test_importing_the_package_loads_no_heavy_library():
    import subprocess
    import sys

    code = (
        "import sys, codegym.agents.lm, codegym.agents.lm.policy\n"
        "print([m for m in ('torch', 'transformers', 'jinja2', 'vllm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
