"""Each loss and its gradient against a slow and obvious reference."""

import math

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from codegym.training import losses  # noqa: E402

pytestmark = pytest.mark.train


def _vector(*values, grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=grad)


def _numeric(function, at, step=1e-6):
    """The gradient of a function of floats, by differences in the middle."""
    found = []
    for place in range(len(at)):
        up, down = list(at), list(at)
        up[place] += step
        down[place] -= step
        found.append((function(up) - function(down)) / (2 * step))
    return found


def _same(tensor, floats, tolerance=1e-7):
    assert tensor.tolist() == pytest.approx(list(floats), abs=tolerance)


# Advantages

rewards = st.lists(st.floats(-2, 2), min_size=1, max_size=8)


@given(rewards)
def test_advantages_are_rewards_minus_the_mean_and_nothing_else(given_rewards):
    got = losses.centred(given_rewards)
    mean = math.fsum(given_rewards) / len(given_rewards)
    if max(given_rewards) - min(given_rewards) < 1e-9:
        assert got is None
    else:
        assert got == pytest.approx([one - mean for one in given_rewards])


def test_advantages_keep_their_scale():
    rare = losses.centred([1.0] + [0.0] * 7)
    assert rare[0] == pytest.approx(7 / 8)  # with the deviation it would be 2.6


@pytest.mark.parametrize("group", [[], [1.0], [0.0, 0.0], [1.0, 1.0, 1.0]])
def test_a_group_that_says_nothing_is_dropped(group):
    assert losses.centred(group) is None


# The surrogates

LOGP = [-1.0, -0.5, -2.0, -0.7, -1.2, -0.1]
PROXIMAL = [-1.1, -1.2, -1.5, -0.7, -1.0, -0.9]
ADVANTAGES = [1.0, 0.5, -1.0, -0.3, 0.8, -2.0]


def _slow_clipped(logp, old, advantage, low, high):
    ratio = math.exp(logp - old)
    bounded = min(max(ratio, 1 - low), 1 + high)
    return -min(ratio * advantage, bounded * advantage)


def test_the_clipped_surrogate():
    logp = _vector(*LOGP, grad=True)
    got = losses.clipped(logp, _vector(*PROXIMAL), _vector(*ADVANTAGES), low=0.2, high=0.28)

    def slow(values):
        rows = zip(values, PROXIMAL, ADVANTAGES, strict=True)
        return [_slow_clipped(*row, 0.2, 0.28) for row in rows]

    _same(got, slow(LOGP))
    got.sum().backward()
    _same(logp.grad, _numeric(lambda values: sum(slow(values)), LOGP))


def test_there_is_more_room_upwards_than_downwards():
    def pulls(ratio, advantage):
        logp = _vector(math.log(ratio), grad=True)
        losses.clipped(logp, _vector(0.0), _vector(advantage)).sum().backward()
        return logp.grad.item() != 0.0

    assert pulls(1.27, 1.0)
    assert not pulls(1.29, 1.0)
    assert pulls(0.81, -1.0)
    assert not pulls(0.79, -1.0)
    # What was made worse by mistake is always taken back.
    assert pulls(1.5, -1.0)
    assert pulls(0.5, 1.0)


def test_cispo_drops_no_gradient():
    logp = _vector(*LOGP, grad=True)
    losses.cispo(logp, _vector(*PROXIMAL), _vector(*ADVANTAGES), cap=1.5).sum().backward()
    slow = [
        -min(math.exp(now - old), 1.5) * advantage
        for now, old, advantage in zip(LOGP, PROXIMAL, ADVANTAGES, strict=True)
    ]
    _same(logp.grad, slow)
    assert all(logp.grad != 0)


def test_one_update_a_batch_is_the_plain_policy_gradient():
    for loss in (losses.clipped, losses.cispo):
        logp = _vector(*LOGP, grad=True)
        loss(logp, logp.detach(), _vector(*ADVANTAGES)).sum().backward()
        _same(logp.grad, [-advantage for advantage in ADVANTAGES])


# Weights for engines that are stale or compute otherwise


def test_weights_by_token_are_truncated():
    got = losses.correction(_vector(*LOGP), _vector(*PROXIMAL), cap=1.3)
    rows = zip(LOGP, PROXIMAL, strict=True)
    _same(got, [min(math.exp(now - sampled), 1.3) for now, sampled in rows])


def test_weights_by_sequence_are_of_the_product():
    numbers = [0, 0, 1, 1, 1, 2]
    got = losses.correction(
        _vector(*LOGP), _vector(*PROXIMAL), cap=1.3, sequence=torch.tensor(numbers)
    )
    sums = [0.0, 0.0, 0.0]
    for number, now, sampled in zip(numbers, LOGP, PROXIMAL, strict=True):
        sums[number] += now - sampled
    _same(got, [min(math.exp(sums[number]), 1.3) for number in numbers])


def test_weights_have_no_gradient_and_no_overflow():
    got = losses.correction(_vector(0.0, -900.0, grad=True), _vector(-900.0, 0.0), cap=2.0)
    assert not got.requires_grad
    assert got[0].item() == 2.0
    assert 0 < got[1].item() < 1e-6


def test_a_corrected_stale_sampler_gives_the_gradient_of_a_fresh_one():
    """Expected over the stale sampler's tokens, the weighted gradient is the right one."""
    scores = _vector(0.3, -0.2, 0.9, grad=True)
    stale = _vector(0.0, 0.4, -0.1).log_softmax(-1)
    gains = _vector(1.0, -0.5, 0.2)

    logp = scores.log_softmax(-1)
    (wanted,) = torch.autograd.grad(-(logp.exp() * gains).sum(), scores, retain_graph=True)

    weights = losses.correction(logp, stale, cap=100.0)
    surrogate = losses.clipped(logp, logp.detach(), gains) * weights
    (got,) = torch.autograd.grad((stale.exp() * surrogate).sum(), scores)
    _same(got, wanted.tolist())


# Penalty on leaving a reference


def test_the_penalty_has_the_gradient_of_the_reverse_kl():
    """Expected over the policy's own tokens; the better-known estimators fail this."""
    scores = _vector(0.3, -0.2, 0.9, grad=True)
    reference = _vector(-0.5, 0.1, 0.2).log_softmax(-1)
    logp = scores.log_softmax(-1)
    exact = (logp.exp() * (logp - reference)).sum()
    (wanted,) = torch.autograd.grad(exact, scores, retain_graph=True)
    sampled = (logp.exp().detach() * losses.reference_kl(logp, reference)).sum()
    (got,) = torch.autograd.grad(sampled, scores)
    _same(got, wanted.tolist())


# Normalisation


@given(st.lists(st.lists(st.floats(-3, 3), min_size=1, max_size=5), min_size=1, max_size=5))
def test_all_tokens_count_alike_however_they_are_batched(parts):
    count = sum(map(len, parts))
    got = sum(losses.token_mean(_vector(*part), count).item() for part in parts)
    flat = [one for part in parts for one in part]
    assert got == pytest.approx(math.fsum(flat) / count, abs=1e-9)


# Distillation

SCORES = [[0.2, -1.0, 0.5, 2.0, -0.3], [1.5, 0.1, -0.2, 0.0, 0.4]]
OTHERS = [[0.9, -0.2, 0.1, 1.0, 0.3], [0.0, 1.0, 0.6, -1.2, 0.2]]


def _softmax(row):
    total = sum(math.exp(one) for one in row)
    return [math.exp(one) / total for one in row]


def _slow_tail(row, ids):
    shares = _softmax(row)
    kept = [shares[one] for one in ids]
    return [*kept, 1 - sum(kept)]


def _slow_divergence(student, teacher, alpha):
    def kl(of, to):
        return sum(p * math.log(p / q) for p, q in zip(of, to, strict=True))

    if alpha == 0.0:
        return kl(teacher, student)
    if alpha == 1.0:
        return kl(student, teacher)
    middle = [(1 - alpha) * p + alpha * q for p, q in zip(student, teacher, strict=True)]
    return (1 - alpha) * kl(student, middle) + alpha * kl(teacher, middle)


def test_the_tail_is_all_the_rest():
    ids = torch.tensor([[3, 2], [0, 4]])
    got = losses.with_tail(torch.tensor(SCORES, dtype=torch.float64), ids).exp()
    for row, scores, chosen in zip(got, SCORES, ids.tolist(), strict=True):
        _same(row, _slow_tail(scores, chosen))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_divergences_and_their_gradients(alpha):
    ids = [[3, 2], [0, 4]]

    def slow(flat):
        rows = flat[:5], flat[5:]
        return sum(
            _slow_divergence(_slow_tail(mine, kept), _slow_tail(other, kept), alpha)
            for mine, other, kept in zip(rows, OTHERS, ids, strict=True)
        )

    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    teacher = torch.tensor(OTHERS, dtype=torch.float64, requires_grad=True)
    chosen = torch.tensor(ids)
    student_side = losses.with_tail(scores, chosen)
    got = losses.divergence(student_side, losses.with_tail(teacher, chosen), alpha=alpha).sum()
    assert got.item() == pytest.approx(slow([*SCORES[0], *SCORES[1]]))
    got.backward()
    _same(scores.grad.flatten(), _numeric(slow, [*SCORES[0], *SCORES[1]]), 1e-6)
    assert teacher.grad is None


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_autograd_agrees_with_differences(alpha):
    teacher = torch.tensor(OTHERS, dtype=torch.float64).log_softmax(-1)

    def loss(scores):
        return losses.divergence(scores.log_softmax(-1), teacher, alpha=alpha)

    scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, (scores,))


row = st.lists(st.floats(-8, 8), min_size=4, max_size=4)


@settings(deadline=None)
@given(row, row, st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_a_divergence_is_never_negative_and_nothing_from_itself(mine, other, alpha):
    student = _vector(*mine).log_softmax(-1)[None]
    teacher = _vector(*other).log_softmax(-1)[None]
    assert losses.divergence(student, teacher, alpha=alpha).item() >= -1e-9
    assert abs(losses.divergence(student, student, alpha=alpha).item()) < 1e-9


def test_a_tail_of_nothing_is_finite():
    scores = torch.tensor([[80.0, -80.0, -80.0]], requires_grad=True)
    tail = losses.with_tail(scores, torch.tensor([[0, 1]]))
    losses.divergence(tail, tail.detach().roll(1, -1), alpha=0.5).sum().backward()
    assert torch.isfinite(tail).all()
    assert torch.isfinite(scores.grad).all()


def test_the_gate_follows_what_the_teacher_endorses():
    student, teacher = _vector(-1.0, -1.0, grad=True), _vector(-0.2, -3.0, grad=True)
    got = losses.gate(student, teacher, sharpness=2.0)
    _same(got, [1 / (1 + math.exp(-1.6)), 1 / (1 + math.exp(4.0))])
    assert not got.requires_grad
    assert losses.gate(student, teacher, sharpness=0.0).tolist() == [0.5, 0.5]
