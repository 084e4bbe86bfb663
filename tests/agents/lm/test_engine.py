"""An engine's numbers are those of the plain model; neither cache nor company changes a token."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from codegym.agents.lm.engines.sampling import draw  # noqa: E402
from codegym.agents.lm.engines.transformers import TransformersEngine  # noqa: E402
from codegym.agents.lm.loading import load_model, load_tokenizer  # noqa: E402
from codegym.errors import UnavailableError, UsageError  # noqa: E402
from codegym.types import SamplingParams  # noqa: E402

pytestmark = pytest.mark.train

CPU = torch.device("cpu")
PARAMS = SamplingParams(max_tokens=12, seed=5)
GREEDY = SamplingParams(temperature=0.0, max_tokens=12)
MOST = 1e-4


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return load_tokenizer(tiny)


@pytest.fixture(scope="module")
def model(tiny):
    return load_model(tiny, CPU, torch.float32)


@pytest.fixture
async def make(model, tokenizer):
    made = []

    def engine(use=model, **options):
        made.append(TransformersEngine(use, tokenizer, **options))
        return made[-1]

    yield engine
    for each in made:
        await each.aclose()


def ids_of(seed, count):
    return np.random.default_rng(seed).integers(3, 259, size=count).tolist()


def teacher_forced(model, trace, temperature=1.0):
    """Log-probabilities of the completion by one plain pass over all of it."""
    with torch.no_grad():
        logits = model(torch.tensor([[*trace.prompt_ids, *trace.completion_ids]])).logits[0]
    scores = torch.log_softmax(logits.float() / temperature, -1)
    start = len(trace.prompt_ids) - 1
    return [scores[start + n, token].item() for n, token in enumerate(trace.completion_ids)]


def difference(model, traces, temperature=1.0):
    return max(
        abs(mine - plain)
        for trace in traces
        for mine, plain in zip(
            trace.logprobs, teacher_forced(model, trace, temperature), strict=True
        )
    )


async def together(engine, prompts, params=PARAMS):
    asked = [engine.generate(ids, replace(params, seed=n)) for n, ids in enumerate(prompts)]
    return await asyncio.gather(*asked)


async def test_log_probabilities_are_the_plain_models(make, model):
    traces = await together(make(), [ids_of(n, n * 37 + 1) for n in range(8)])
    assert difference(model, traces) <= MOST
    assert all(0 < len(trace.completion_ids) <= 12 for trace in traces)
    warm = await together(make(), [ids_of(1, 20)] * 3, replace(PARAMS, temperature=0.7))
    assert difference(model, warm, 0.7) <= MOST


def of_kind(name, **options):
    """A small model of another architecture."""
    from transformers import AutoConfig, AutoModelForCausalLM

    sizes = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 16,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    }  # fmt: skip
    config = AutoConfig.for_model(name, vocab_size=303, **(sizes | options))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        return AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize(
    ("name", "options", "context_tokens"),
    [
        ("qwen3", {}, 512),
        ("mistral", {"sliding_window": 128}, 128),
        ("gemma2", {"sliding_window": 128}, 128),
        ("gpt2", {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 512}, 512),
        ("llama", {"attn_implementation": "eager"}, 512),
    ],
)
async def test_other_architectures_give_their_own_numbers(make, name, options, context_tokens):
    other = of_kind(name, **options)
    engine = make(other)
    assert engine.context_tokens == context_tokens
    prompts = [ids_of(n, size) for n, size in enumerate((3, 40, 70))]
    for _ in range(2):
        traces = await together(engine, prompts)
        assert difference(other, traces) <= MOST
        prompts = [[*each.prompt_ids, *each.completion_ids, 9] for each in traces]
    assert engine.reused_tokens > 0


def test_a_model_without_keys_and_values_is_named(tokenizer):
    other = of_kind("mamba", state_size=4)
    with pytest.raises(UsageError, match=r"MambaForCausalLM.*needs engine=vllm"):
        TransformersEngine(other, tokenizer)


async def test_greedy_takes_the_likeliest_and_says_what_the_model_thought_of_it(make, model):
    (trace,) = await together(make(), [ids_of(2, 30)], GREEDY)
    ids = list(trace.prompt_ids)
    for token in trace.completion_ids:
        with torch.no_grad():
            assert model(torch.tensor([ids])).logits[0, -1].argmax() == token
        ids.append(token)
    assert difference(model, [trace]) <= MOST


@pytest.mark.parametrize("params", [GREEDY, PARAMS])
async def test_a_cache_that_is_kept_changes_no_token(make, model, params):
    kept, prompts = make(), [ids_of(n, 40 + n) for n in range(5)]
    for turn in range(3):
        read = kept.reused_tokens
        mine = await together(kept, prompts, params)
        plain = await together(make(), prompts, params)
        assert [each.completion_ids for each in mine] == [each.completion_ids for each in plain]
        assert difference(model, mine) <= MOST
        if turn:  # only what is new was read, and the token that was drawn last
            least = sum(map(len, prompts)) - 5 * 8
            assert kept.reused_tokens - read == least
        prompts = [[*each.prompt_ids, *each.completion_ids, *ids_of(turn, 7)] for each in mine]


@settings(max_examples=8)
@given(
    lengths=st.lists(st.integers(1, 400), min_size=1, max_size=6),
    shared=st.integers(0, 80),
    params=st.sampled_from([GREEDY, PARAMS, replace(PARAMS, top_p=0.8)]),
    max_batch=st.integers(1, 8),
)
async def test_in_ragged_company_each_gets_what_it_gets_alone(
    model, tokenizer, lengths, shared, params, max_batch
):
    prompts = [ids_of(0, shared) + ids_of(n + 1, size) for n, size in enumerate(lengths)]
    engine = TransformersEngine(model, tokenizer, max_batch=max_batch)
    company = await together(engine, prompts, params)
    for number, trace in enumerate(company):
        lonely = TransformersEngine(model, tokenizer)
        alone = await lonely.generate(prompts[number], replace(params, seed=number))
        await lonely.aclose()
        assert trace.completion_ids == alone.completion_ids
        assert np.allclose(trace.logprobs, alone.logprobs, atol=MOST)
    await engine.aclose()


async def test_a_group_reads_its_prompt_once(make):
    engine, prompt = make(), ids_of(3, 200)
    traces = await together(engine, [prompt] * 6)
    assert len({trace.completion_ids for trace in traces}) > 1
    assert engine.reused_tokens == 5 * 199


async def test_requests_join_a_batch_that_is_running(make, model):
    engine = make()
    first = asyncio.ensure_future(engine.generate(ids_of(1, 10), replace(PARAMS, max_tokens=200)))
    late = []
    for number in range(4):
        await asyncio.sleep(0.02)
        late.append(await engine.generate(ids_of(number, 15), PARAMS))
    assert difference(model, [await first, *late]) <= MOST


async def test_little_memory_evicts_the_longest_unused_and_changes_no_token(make, model):
    probe = make()
    few = make(cache_bytes=2 * probe._pool.bytes_of(1, 256))  # two rows
    prompts = [ids_of(n, 50) for n in range(6)]
    for _ in range(2):
        mine = await together(few, prompts)
        assert difference(model, mine) <= MOST
        prompts = [[*each.prompt_ids, *each.completion_ids, 5] for each in mine]
    assert few._pool.rows <= 2
    longer = await together(few, [ids_of(9, 300), *prompts])  # one row of 512, then
    assert difference(model, longer) <= MOST
    with pytest.raises(UnavailableError, match="cache_mb"):
        await few.generate(ids_of(9, 600), PARAMS)
    assert (await few.generate(ids_of(1, 50), PARAMS)).completion_ids  # it goes on


async def test_new_weights_forget_what_was_cached(make, model, tiny):
    other = load_model(tiny, CPU, torch.float32)
    engine = make(other, version="1")
    (before,) = await together(engine, [ids_of(1, 60)])
    prompt = [*before.prompt_ids, *before.completion_ids, 9]
    changed = {name: tensor * 1.5 for name, tensor in model.state_dict().items()}
    await engine.load_weights(changed, "2")
    assert engine.version == "2"
    (after,) = await together(engine, [prompt])
    assert difference(other, [after]) <= MOST
    assert difference(model, [after]) > MOST
    with torch.no_grad():  # as a trainer does, in place
        for each in other.parameters():
            each.mul_(0.9)
    await engine.refresh("3")
    (last,) = await together(engine, [[*after.prompt_ids, *after.completion_ids, 9]])
    assert difference(other, [last]) <= MOST
    with pytest.raises(UsageError, match="not of this model"):
        await engine.load_weights({"nothing": torch.zeros(1)}, "4")


async def test_a_pause_holds_steps_and_requests_end_under_the_weights_there_then(make, tiny):
    other = load_model(tiny, CPU, torch.float32)
    engine = make(other)
    running = asyncio.ensure_future(engine.generate(ids_of(1, 40), replace(GREEDY, max_tokens=60)))
    await asyncio.sleep(0.05)
    async with engine.paused():
        with torch.no_grad():
            for each in other.parameters():
                each.mul_(1.2)
        await engine.refresh("2")
        await asyncio.sleep(0.05)
        assert not running.done()
    trace = await running
    plain = teacher_forced(other, trace)
    assert abs(trace.logprobs[-1] - plain[-1]) <= MOST


async def test_completions_end_as_they_should(make, model, tokenizer):
    engine = make()
    (free,) = await together(engine, [ids_of(4, 30)])
    stop = free.completion_ids[4]
    ended = await make(stop_ids=frozenset({stop})).generate(ids_of(4, 30), replace(PARAMS, seed=0))
    first = free.completion_ids.index(stop) + 1
    assert ended.completion_ids == free.completion_ids[:first]
    text = tokenizer.decode(list(free.completion_ids[:6]))
    word = text[-2:]
    cut = await engine.generate(ids_of(4, 30), replace(PARAMS, seed=0, stop=(word,)))
    said = tokenizer.decode(list(cut.completion_ids))
    assert word in said
    assert word not in tokenizer.decode(list(cut.completion_ids[:-1]))
    assert cut.completion_ids == free.completion_ids[: len(cut.completion_ids)]
    full = await engine.generate(ids_of(1, engine.context_tokens - 3), replace(GREEDY, seed=1))
    assert len(full.completion_ids) <= 3
    for prompt in ([], ids_of(1, engine.context_tokens)):
        with pytest.raises(UsageError, match="cannot be continued"):
            await engine.generate(prompt, PARAMS)


async def test_who_is_cancelled_leaves_and_others_stay(make, model):
    engine = make(max_batch=2)
    tasks = [
        asyncio.ensure_future(engine.generate(ids_of(n, 20), replace(PARAMS, max_tokens=100)))
        for n in range(4)
    ]
    await asyncio.sleep(0.05)
    tasks[0].cancel()
    tasks[3].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(done[0], asyncio.CancelledError)
    assert difference(model, done[1:3]) <= MOST
    waiting = asyncio.ensure_future(engine.generate(ids_of(1, 20), PARAMS))
    await asyncio.sleep(0)
    await engine.aclose()
    (ended,) = await asyncio.gather(waiting, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)
    assert (await engine.generate(ids_of(1, 20), PARAMS)).completion_ids


def too_small(model, most):
    """The model, on a device that has no room for more than so many sequences."""
    plain = model.forward

    def forward(input_ids=None, **given):
        if len(input_ids) > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return plain(input_ids=input_ids, **given)

    return forward


async def test_out_of_memory_goes_on_with_fewer_and_is_said(make, model, tiny, monkeypatch):
    small = load_model(tiny, CPU, torch.float32)
    engine = make(small)
    prompts = [ids_of(n, 30 + n) for n in range(7)]
    plain = await together(make(), prompts)
    monkeypatch.setattr(small, "forward", too_small(small, 2))
    mine = await together(engine, prompts)
    assert [each.completion_ids for each in mine] == [each.completion_ids for each in plain]
    assert engine.note == "out of memory: at most 1 sequences at once from here on"
    monkeypatch.setattr(small, "forward", too_small(small, 0))
    with pytest.raises(UnavailableError, match="out of memory on cpu even for one sequence"):
        await engine.generate(prompts[0], PARAMS)


async def test_what_ended_in_the_step_that_ran_out_of_memory_is_not_lost(
    make, model, tiny, monkeypatch
):
    small = load_model(tiny, CPU, torch.float32)
    engine = make(small)
    plain, failed = small.forward, []

    def forward(input_ids=None, **given):
        if failed == ["armed"] and input_ids.shape[1] == 1:  # the others' step, after its own
            failed.append("done")
            raise torch.OutOfMemoryError("CUDA out of memory")
        if input_ids.shape[1] > 40 and not failed:
            failed.append("armed")
        return plain(input_ids=input_ids, **given)

    monkeypatch.setattr(small, "forward", forward)
    long = [
        asyncio.ensure_future(engine.generate(ids_of(n, 9), replace(GREEDY, max_tokens=150)))
        for n in range(2)
    ]
    await asyncio.sleep(0.05)
    short = await engine.generate(ids_of(3, 50), replace(GREEDY, max_tokens=1))
    traces = [short, *await asyncio.gather(*long)]
    assert failed == ["armed", "done"]
    assert difference(model, traces) <= MOST


async def test_any_other_failure_is_told_to_all_who_wait(make, tiny, monkeypatch):
    broken = load_model(tiny, CPU, torch.float32)
    engine = make(broken)

    def forward(**given):
        raise ValueError("broken\nweights")

    monkeypatch.setattr(broken, "forward", forward)
    asked = [engine.generate(ids_of(n, 9), PARAMS) for n in range(3)]
    for each in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(each, UnavailableError)
        assert "ValueError: broken weights" in str(each)
    monkeypatch.undo()
    assert (await engine.generate(ids_of(1, 9), PARAMS)).completion_ids


@given(
    st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=9),
    st.floats(0.1, 3),
    st.floats(0.05, 1),
    st.floats(0, 1, exclude_max=True),
)
def test_a_draw_is_from_the_distribution_whose_log_probability_it_reports(
    logits, temperature, top_p, chance
):
    scores = torch.tensor([logits], dtype=torch.float32)
    given = [torch.tensor([each], dtype=torch.float64) for each in (temperature, top_p, chance)]
    token, logprob = (each.item() for each in draw(scores, given[0].float(), given[1], given[2]))
    odds = np.exp(np.array(logits) / temperature - np.max(np.array(logits) / temperature))
    odds /= odds.sum()
    order = np.argsort(-odds, kind="stable")
    before = np.cumsum(odds[order]) - odds[order]
    kept = set(order[before < top_p + 1e-5]) if top_p < 1 else set(range(len(logits)))
    sure = {*order[before < top_p - 1e-5], order[0]} if top_p < 1 else kept
    assert odds[token] > 0
    assert token in kept or np.isclose(odds[token], odds[list(kept)].min(), rtol=1e-4)
    low = np.log(odds[token] / odds[list(kept)].sum())
    high = np.log(odds[token] / odds[list(sure)].sum())
    assert low - 1e-3 <= logprob <= high + 1e-3


def test_draws_are_as_frequent_as_they_are_likely():
    odds = np.array([0.5, 0.3, 0.15, 0.05])
    logits = torch.tensor(np.log(odds), dtype=torch.float32).repeat(20_000, 1)
    chances = torch.tensor(np.random.default_rng(0).random(20_000))
    ones = torch.ones(20_000)
    drawn, logprobs = draw(logits, ones, ones, chances)
    assert np.allclose(np.bincount(drawn.numpy(), minlength=4) / 20_000, odds, atol=0.01)
    assert torch.allclose(logprobs, torch.tensor(np.log(odds), dtype=torch.float32)[drawn])
    drawn, logprobs = draw(logits, ones, ones * 0.7, chances)
    assert np.allclose(
        np.bincount(drawn.numpy(), minlength=4) / 20_000, [0.625, 0.375, 0, 0], atol=0.01
    )
