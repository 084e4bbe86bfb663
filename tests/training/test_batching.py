"""Batches change how fast something is computed, never what."""

import pytest

torch = pytest.importorskip("torch")

from codegym.errors import UsageError  # noqa: E402
from codegym.training import batching, losses  # noqa: E402

pytestmark = pytest.mark.train


def _slow_logprobs(model, sequence):
    """Of a sequence alone, all logits at once."""
    logits = model(input_ids=torch.tensor([sequence.ids])).logits[0].double()
    return torch.stack([logits[p - 1].log_softmax(-1)[sequence.ids[p]] for p in sequence.actions])


def _all(model, sequences, max_tokens):
    found = {}
    for batch in batching.batches(sequences, max_tokens=max_tokens):
        states = batching.hidden_states(model, batch)
        got = batching.logprobs(model, states, batch.targets)
        for number, member in enumerate(batch.members):
            found[member] = got[batch.row == number]
    return [found[member] for member in range(len(sequences))]


@pytest.mark.parametrize("max_tokens", [1, 40, 200, 10_000])
def test_log_probabilities_are_those_of_each_sequence_alone(tiny_model, make_sequence, max_tokens):
    sequences = [make_sequence(seed, turns=1 + seed % 4) for seed in range(9)]
    for got, sequence in zip(_all(tiny_model, sequences, max_tokens), sequences, strict=True):
        wanted = _slow_logprobs(tiny_model, sequence)
        assert got.tolist() == pytest.approx(wanted.tolist(), abs=1e-4)


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
    for batch in batching.batches(sequences, max_tokens=max_tokens):
        states = batching.hidden_states(model, batch)
        logp = batching.logprobs(model, states, batch.targets)
        mine = torch.tensor([advantages[member] for member in batch.members])[batch.row]
        losses.token_mean(losses.clipped(logp, logp.detach(), mine), total).backward()
    return _gradient(model)


def test_the_gradient_of_a_step_is_the_slow_one_whatever_the_batches(tiny_model, make_sequence):
    sequences = [make_sequence(seed, turns=1 + seed % 3) for seed in range(6)]
    advantages = [0.5, -0.5, 1.0, -0.25, 0.125, -1.0]
    wanted = _slow_gradient(tiny_model, sequences, advantages)
    for max_tokens in (1, 50, 10_000):
        got = _fast_gradient(tiny_model, sequences, advantages, max_tokens)
        assert torch.allclose(got, wanted, atol=1e-6)


def test_chunks_change_nothing(tiny_model, make_sequence, monkeypatch):
    sequences = [make_sequence(seed) for seed in range(4)]
    advantages = [0.5, -0.5, 1.0, -0.25]
    whole = _fast_gradient(tiny_model, sequences, advantages, 10_000)
    monkeypatch.setattr(batching, "_CHUNK", 3)
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
    assert {int(one) - 1 for one in batch.column} == wanted
    assert all(sequence.env_mask[p] for p in range(len(sequence.ids)) if p - 1 not in wanted)


def test_a_model_that_does_more_after_its_head_is_refused(tiny_model):
    batching.check_head(tiny_model)
    forward = tiny_model.forward

    def scaled(*args, **kwargs):
        made = forward(*args, **kwargs)
        made.logits = 30.0 * torch.tanh(made.logits * 5 / 30.0)
        return made

    tiny_model.forward = scaled
    with pytest.raises(UsageError, match="LlamaForCausalLM: its logits are scaled"):
        batching.check_head(tiny_model)
