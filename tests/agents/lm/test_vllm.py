"""What the vLLM engine asks of vLLM, as its documentation has it; vLLM itself runs nowhere here."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from codegym.agents.lm.engines.vllm import VllmEngine
from codegym.errors import PolicyError, UnavailableError, UsageError
from codegym.types import SamplingParams

PARAMS = SamplingParams(temperature=0.5, top_p=0.9, max_tokens=50, stop=("end",), seed=2**40 + 7)


@dataclass
class StandIn:
    """Answers as ``vllm.AsyncLLMEngine`` does: outputs that grow."""

    said: list[int]
    asked: list = field(default_factory=list)
    told: list = field(default_factory=list)

    def module(self):
        made = SimpleNamespace(create_model_config=lambda: SimpleNamespace(max_model_len=100))
        return SimpleNamespace(
            AsyncEngineArgs=lambda **given: self.asked.append(given) or made,
            AsyncLLMEngine=SimpleNamespace(from_engine_args=lambda _: self),
            SamplingParams=lambda **given: given,
        )

    async def generate(self, prompt, params, request_id):
        self.asked.append((prompt, params, request_id))
        for end in range(1, len(self.said) + 1):
            ids = self.said[:end]
            logprobs = [{each: SimpleNamespace(logprob=-float(each))} for each in ids]
            yield SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, logprobs=logprobs)])

    async def collective_rpc(self, name):
        self.told.append(name)

    async def reset_prefix_cache(self):
        self.told.append("reset")

    def shutdown(self):
        self.told.append("shutdown")


async def test_tokens_go_in_and_come_out_with_their_log_probabilities(monkeypatch):
    stand_in = StandIn([4, 5])
    monkeypatch.setitem(sys.modules, "vllm", stand_in.module())
    engine = VllmEngine(Path("m"), version="1")
    assert stand_in.asked[0]["logprobs_mode"] == "processed_logprobs"
    trace = await engine.generate([1, 2, 3], PARAMS)
    assert (trace.prompt_ids, trace.completion_ids) == ((1, 2, 3), (4, 5))
    assert trace.logprobs == (-4.0, -5.0)
    prompt, params, _ = stand_in.asked[1]
    assert prompt == {"prompt_token_ids": [1, 2, 3]}
    assert (params["temperature"], params["top_p"], params["stop"]) == (0.5, 0.9, ["end"])
    assert 0 <= params["seed"] < 2**31
    await engine.generate([1] * 90, PARAMS)
    assert stand_in.asked[2][1]["max_tokens"] == 10
    assert stand_in.asked[2][2] != stand_in.asked[1][2]
    with pytest.raises(UsageError, match="cannot be continued"):
        await engine.generate([1] * 100, PARAMS)
    await engine.refresh("2")
    await engine.aclose()
    assert stand_in.told == ["reload_weights", "reset", "shutdown"]
    assert engine.version == "2"


async def test_no_answer_is_nobodys_doing(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", StandIn([]).module())
    with pytest.raises(PolicyError, match="no answer"):
        await VllmEngine(Path("m")).generate([1], PARAMS)


def test_without_vllm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(UnavailableError, match=r"pip install 'codegym\[vllm\]'"):
        VllmEngine(Path("m"))
