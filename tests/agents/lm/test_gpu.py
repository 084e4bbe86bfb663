"""The engine on a GPU, in the numbers that are used there."""

import asyncio
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from codegym.agents.lm.engines.transformers import TransformersEngine  # noqa: E402
from codegym.agents.lm.loading import (  # noqa: E402
    device_named,
    dtype_named,
    load_model,
    load_tokenizer,
)
from codegym.types import SamplingParams  # noqa: E402

pytestmark = [
    pytest.mark.train,
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-3), ("auto", 0.1)])
async def test_log_probabilities_on_a_gpu_are_near_the_plain_models(tiny, dtype, most):
    device = device_named("auto")
    assert device.type == "cuda"
    model = load_model(tiny, device, dtype_named(dtype, device))
    engine = TransformersEngine(model, load_tokenizer(tiny))
    prompts = [list(range(5, 5 + size)) for size in (3, 90, 200)]
    params = SamplingParams(max_tokens=20)
    for _ in range(2):  # the second time, on what was kept
        traces = await asyncio.gather(
            *(engine.generate(ids, replace(params, seed=n)) for n, ids in enumerate(prompts))
        )
        for trace in traces:
            ids = torch.tensor([[*trace.prompt_ids, *trace.completion_ids]], device=device)
            with torch.no_grad():
                scores = torch.log_softmax(model(ids).logits[0].float(), -1)
            start = len(trace.prompt_ids) - 1
            for number, token in enumerate(trace.completion_ids):
                assert abs(scores[start + number, token].item() - trace.logprobs[number]) <= most
        prompts = [[*trace.prompt_ids, *trace.completion_ids, 9] for trace in traces]
    await engine.aclose()
