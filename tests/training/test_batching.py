"""Batches change how fast something is computed, never what."""

import pytest

torch = pytest.importorskip("torch")

from codegym.errors import UsageError  # noqa: E402
from codegym.training import batching, losses, scoring  # noqa: E402
from codegym.training.sequences import TokenSequence  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.timeout(400)]


def _slow_logprobs(model, sequence):
    """Of a sequence alone, all logits at once."""
    logits = model(input_ids=torch.tensor([sequence.ids])).logits[0].double()
    return torch.stack([logits[p - 1].log_softmax(-1)[sequence.ids[p]] for p in sequence.actions])


def _all(model, sequences, max_tokens, share=False):
    found = {}
    for batch in batching.batches(sequences, max_tokens=max_tokens, share=share):
        states = scoring.hidden_states(model, batch)
        got = scoring.logprobs(model, states, batch.targets)
        for own, member in enumerate(batch.members):
            found[member] = got[batch.owner == own]
    return [found[member] for member in range(len(sequences))]


def _alike(make_sequence, seed, count, share=2 / 3):
    """Sequences that go on differently after a common beginning."""
    first = make_sequence(seed, turns=3)
    kept = int(len(first.ids) * share)
    made = [first]
    for number in range(1, count):
        ids = (*first.ids[:kept], *((one + number) % 47 + 1 for one in first.ids[kept:]))
        made.append(TokenSequence(ids, first.env_mask, first.sampler_logprobs, first.spans))
    return made


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("max_tokens", [1, 40, 200, 10_000])
def test_log_probabilities_are_those_of_each_sequence_alone(
    tiny_model, make_sequence, max_tokens, share
):
    sequences = [make_sequence(seed, turns=1 + seed % 4) for seed in range(5)]
    sequences += _alike(make_sequence, 7, 4) + _alike(make_sequence, 8, 3)
    found = _all(tiny_model, sequences, max_tokens, share)
    for got, sequence in zip(found, sequences, strict=True):
        wanted = _slow_logprobs(tiny_model, sequence)
        assert got.tolist() == pytest.approx(wanted.tolist(), abs=1e-4)


def test_what_is_shared_is_computed_once(tiny_model, make_sequence):
    sequences = _alike(make_sequence, 7, 4)
    length = len(sequences[0].ids)
    kept = int(length * 2 / 3)
    (alone,) = batching.batches(sequences, max_tokens=10_000)
    (shared,) = batching.batches(sequences, max_tokens=10_000, share=True)
    assert alone.ids.shape == (4, length)
    assert shared.ids.shape == (1, kept + 4 * (length - kept))
    assert shared.members == (0, 1, 2, 3)
    assert sorted(shared.targets.tolist()) == sorted(alone.targets.tolist())
    # Two that are the same throughout, and one that is the other's beginning.
    whole = sequences[0]
    (span, *_) = whole.spans
    part = TokenSequence(
        whole.ids[: span.end],
        whole.env_mask[: span.end],
        whole.sampler_logprobs[: span.end],
        (span,),
    )
    for others in ([whole, whole], [whole, part], [part, whole]):
        for got, each in zip(_all(tiny_model, others, 10_000, share=True), others, strict=True):
            wanted = _slow_logprobs(tiny_model, each)
            assert got.tolist() == pytest.approx(wanted.tolist(), abs=1e-4)


def test_a_place_sees_its_own_sequence_up_to_itself_and_no_other(make_sequence):
    (batch,) = batching.batches(_alike(make_sequence, 7, 3), max_tokens=10_000, share=True)
    seen, branch, positions = batch.seen()[0, 0], batch.branch[0], batch.positions[0]
    for place, row in enumerate(seen.tolist()):
        visible = [other for other, sees in enumerate(row) if sees]
        assert [int(positions[other]) for other in visible] == list(range(len(visible)))
        assert {int(branch[other]) for other in visible} <= {0, int(branch[place])}
        assert visible[-1] == place


def test_little_in_common_is_no_reason_to_share(make_sequence):
    few = _alike(make_sequence, 7, 3, 0.2)
    assert [len(b.ids) for b in batching.batches(few, max_tokens=10_000, share=True)] == [3]


def test_a_model_with_windows_shares_nothing(tiny_model):
    from transformers import MistralConfig, MistralForCausalLM

    assert scoring.shares_beginnings(tiny_model)
    config = MistralConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, sliding_window=8, initializer_range=0.2,
    )  # fmt: skip
    windowed = MistralForCausalLM(config).eval()
    assert not scoring.shares_beginnings(windowed)


def test_each_sequence_is_in_one_batch_and_batches_keep_their_size(make_sequence):
    sequences = [make_sequence(seed, turns=1 + seed % 5) for seed in range(20)]
    made = list(batching.batches(sequences, max_tokens=60))
    assert sorted(one for batch in made for one in batch.members) == list(range(20))
    assert all(batch.ids.numel() <= 60 or len(batch.members) == 1 for batch in made)
    assert len(made) < 20
    widths = [batch.ids.shape[1] for batch in made]
    assert widths == sorted(widths, reverse=True)


def _gradient(model):
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def _slow_gradient(model, sequences, advantages):
    model.zero_grad()
    total = sum(len(each.actions) for each in sequences)
    for sequence, advantage in zip(sequences, advantages, strict=True):
        (-(_slow_logprobs(model, sequence) * advantage).sum() / total).backward()
    return _gradient(model)


def _fast_gradient(model, sequences, advantages, max_tokens):
    model.zero_grad()
    total = sum(len(each.actions) for each in sequences)
    for batch in batching.batches(sequences, max_tokens=max_tokens, share=True):
        states = scoring.hidden_states(model, batch)
        logp = scoring.logprobs(model, states, batch.targets)
        mine = torch.tensor([advantages[member] for member in batch.members])[batch.owner]
        losses.token_mean(losses.clipped(logp, logp.detach(), mine), total).backward()
    return _gradient(model)


def test_the_gradient_of_a_step_is_the_slow_one_whatever_the_batches(tiny_model, make_sequence):
    sequences = [make_sequence(seed, turns=1 + seed % 3) for seed in range(3)]
    sequences += _alike(make_sequence, 7, 3)
    advantages = [0.5, -0.5, 1.0, -0.25, 0.125, -1.0]
    wanted = _slow_gradient(tiny_model, sequences, advantages)
    for max_tokens in (1, 50, 10_000):
        got = _fast_gradient(tiny_model, sequences, advantages, max_tokens)
        assert torch.allclose(got, wanted, atol=1e-6)


def test_chunks_change_nothing(tiny_model, make_sequence, monkeypatch):
    sequences = [make_sequence(seed) for seed in range(4)]
    advantages = [0.5, -0.5, 1.0, -0.25]
    whole = _fast_gradient(tiny_model, sequences, advantages, 10_000)
    monkeypatch.setattr(scoring, "_CHUNK", 3)
    chunked = _fast_gradient(tiny_model, sequences, advantages, 10_000)
    assert torch.allclose(chunked, whole, atol=1e-6)


def test_nothing_is_learned_from_what_the_environment_wrote(tiny_model, make_sequence):
    """Each logit's gradient: none but those before the policy's tokens have any."""
    sequence = make_sequence(3, turns=3)
    logits = tiny_model(input_ids=torch.tensor([sequence.ids])).logits
    logits.retain_grad()
    logp = torch.stack(
        [logits[0, p - 1].log_softmax(-1)[sequence.ids[p]] for p in sequence.actions]
    )
    (-logp.sum()).backward()
    wanted = {place for place, row in enumerate(logits.grad[0]) if row.abs().max() > 0}
    (batch,) = batching.batches([sequence], max_tokens=1000)
    assert set(batch.before.tolist()) == wanted
    assert all(sequence.env_mask[p] for p in range(len(sequence.ids)) if p - 1 not in wanted)


def test_a_model_that_does_more_after_its_head_is_refused(tiny_model):
    scoring.check_head(tiny_model)
    forward = tiny_model.forward

    def scaled(*args, **kwargs):
        made = forward(*args, **kwargs)
        made.logits = 30.0 * torch.tanh(made.logits * 5 / 30.0)
        return made

    tiny_model.forward = scaled
    with pytest.raises(UsageError, match="LlamaForCausalLM: its logits are scaled"):
        scoring.check_head(tiny_model)
