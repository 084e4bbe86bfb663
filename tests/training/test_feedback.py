"""A hint teaches at its turn alone, on the very tokens that were sampled there."""

import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from codegym.agents.lm import Renderer  # noqa: E402
from codegym.agents.lm.tiny import train_tokenizer  # noqa: E402
from codegym.envs.tools import load_tools  # noqa: E402
from codegym.errors import UsageError  # noqa: E402
from codegym.training import batching, scoring  # noqa: E402
from codegym.training.experience import Experience  # noqa: E402
from codegym.training.feedback import (  # noqa: E402
    Feedback,
    Lesson,
    Student,
    Teacher,
    distil,
    lesson,
)
from codegym.training.hints import Hint  # noqa: E402
from codegym.training.learner import Learner, Steps  # noqa: E402
from codegym.training.objective import Improver, Objective  # noqa: E402
from codegym.training.sequences import Span, TokenSequence, sequences  # noqa: E402
from codegym.types import Action, Observation, Trajectory, Turn, call  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.timeout(400)]

HINT = Hint(1, "Reminder: run the tests.", "rule:untested")


def _taught(sequence, turn, added=(5, 6, 7)):
    """A lesson as ``lesson`` makes it, with given tokens as the hint."""
    span = sequence.spans[turn]
    prompt, said = sequence.ids[: span.start], sequence.ids[span.start : span.end]
    hinted = (*prompt[:-1], *added, prompt[-1])
    logprobs = sequence.sampler_logprobs[span.start : span.end]
    return Lesson(
        span,
        TokenSequence(
            (*hinted, *said),
            (True,) * len(hinted) + (False,) * len(said),
            (0.0,) * len(hinted) + logprobs,
            (Span(turn, len(hinted), len(hinted) + len(said)),),
        ),
        HINT,
    )


def _student(model, sequences_):
    (batch,) = batching.batches(sequences_, max_tokens=10_000)
    states = scoring.hidden_states(model, batch)
    states.retain_grad()
    logp = scoring.logprobs(model, states, batch.targets)
    said = [p for member in batch.members for p in sequences_[member].logprobs()]
    return Student(batch, states, logp, torch.tensor(said))


def _distil(model, sequences_, taught, how):
    student = _student(model, sequences_)
    (batch,) = batching.batches([each.hinted for _, each in taught], max_tokens=10_000)
    return student, distil(model, Teacher(model, how), student, taught, batch, how)


def _rows(model, ids, span):
    """Distributions before a turn's tokens, as lists."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0].double()
    return [logits[p - 1].softmax(-1).tolist() for p in range(span.start, span.end)]


def _slow(model, sequence, taught, how):
    """The loss, token by token."""
    total = 0.0
    mine = _rows(model, sequence.ids, taught.span)
    theirs = _rows(model, taught.hinted.ids, taught.hinted.spans[0])
    places = range(taught.span.start, taught.span.end)
    for place, p, q in zip(places, mine, theirs, strict=True):
        top = sorted(range(len(p)), key=lambda one: -p[one])[: how.top_k]
        p_top = [*(p[one] for one in top), 1 - sum(p[one] for one in top)]
        q_top = [*(q[one] for one in top), 1 - sum(q[one] for one in top)]
        middle = [(1 - how.alpha) * a + how.alpha * b for a, b in zip(p_top, q_top, strict=True)]
        apart = (1 - how.alpha) * sum(
            a * math.log(a / m) for a, m in zip(p_top, middle, strict=True)
        ) + how.alpha * sum(b * math.log(b / m) for b, m in zip(q_top, middle, strict=True))
        said = sequence.ids[place]
        gate = 1 / (1 + math.exp(-how.sharpness * (math.log(q[said]) - math.log(p[said]))))
        stale = min(math.exp(math.log(p[said]) - sequence.sampler_logprobs[place]), how.cap)
        total += stale * gate * apart
    return total


@pytest.mark.parametrize("sharpness", [0.0, 2.0])
def test_the_loss_is_the_slow_one(tiny_model, make_sequence, sharpness):
    how = Feedback(teacher="self", top_k=5, sharpness=sharpness)
    given = [make_sequence(seed, turns=3) for seed in range(3)]
    taught = [(0, _taught(given[0], 1)), (0, _taught(given[0], 2)), (2, _taught(given[2], 0))]
    _, got = _distil(tiny_model, given, taught, how)
    wanted = sum(_slow(tiny_model, given[member], each, how) for member, each in taught)
    assert got.item() == pytest.approx(wanted, rel=1e-3)


def test_only_the_hinted_turn_is_pulled(tiny_model, make_sequence):
    how = Feedback(teacher="self")
    given = [make_sequence(seed, turns=3) for seed in range(2)]
    student, loss = _distil(tiny_model, given, [(1, _taught(given[1], 1))], how)
    loss.backward()
    pulled = {place for place, row in enumerate(student.states.grad) if row.abs().max() > 0}
    assert pulled == set(student.places(1, given[1].spans[1]).tolist())


def test_the_teacher_has_no_gradient(tiny_model, make_sequence):
    (batch,) = batching.batches([_taught(make_sequence(1), 1).hinted], max_tokens=1000)
    for kind in ("self", "ema", "trust"):
        assert not Teacher(tiny_model, Feedback(teacher=kind)).logits(batch).requires_grad


def test_tokens_that_do_not_match_are_refused(tiny_model, make_sequence):
    sequence = make_sequence(1)
    right = _taught(sequence, 1)
    ids = (*right.hinted.ids[:-1], (right.hinted.ids[-1] + 1) % 48)
    wrong = replace(right, hinted=replace(right.hinted, ids=ids))
    with pytest.raises(UsageError, match="do not read the same tokens"):
        _distil(tiny_model, [sequence], [(0, wrong)], Feedback(teacher="self"))


def _moved(model, by):
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(by)


def test_the_average_follows_at_its_rate(tiny_model, make_sequence):
    teacher = Teacher(tiny_model, Feedback(teacher="ema", rate=0.25))
    began = [weight.clone() for weight in tiny_model.parameters()]
    _moved(tiny_model, 0.1)
    teacher.follow()
    for now, before in zip(teacher.state(), began, strict=True):
        assert torch.allclose(now, before + 0.025, atol=1e-6)
    # A checkpoint's is put back.
    other = Teacher(tiny_model, Feedback(teacher="ema", rate=0.25))
    other.restore(teacher.state())
    assert all(map(torch.equal, other.state(), teacher.state()))


def test_a_teacher_that_is_trusted_stays_near_where_training_began(tiny_model, make_sequence):
    (batch,) = batching.batches([_taught(make_sequence(1), 1).hinted], max_tokens=1000)
    began = Teacher(tiny_model, Feedback(teacher="self")).logits(batch)
    teacher = Teacher(tiny_model, Feedback(teacher="trust", rate=0.1))
    _moved(tiny_model, 0.05)
    now = Teacher(tiny_model, Feedback(teacher="self")).logits(batch)
    teacher.follow()
    assert torch.allclose(teacher.logits(batch), 0.9 * began + 0.1 * now, atol=1e-4)


# Beside the policy gradient


def _experience(given, advantages, lessons):
    return Experience(tuple(given), tuple(advantages), tuple(map(tuple, lessons)), {})


def _step(model, experience, feedback, **options):
    learner = Learner(model, _NoTokenizer(), Steps(learning_rate=1e-9, max_norm=1e9))
    improver = Improver(learner, Objective(**options), feedback)
    told = improver.improve(experience)
    return told, torch.cat([weight.grad.flatten() for weight in model.parameters()])


class _NoTokenizer:
    def save_pretrained(self, folder):
        pass


def test_it_is_added_to_the_policy_gradient_of_the_whole(tiny_model, make_sequence):
    given = [make_sequence(seed, turns=2) for seed in range(3)]
    gains, none = [0.5, -0.5, 0.0], [[], [], []]
    taught = [[_taught(given[0], 1)], [], [_taught(given[2], 0)]]
    how = Feedback(teacher="self", weight=0.7)
    _, both = _step(tiny_model, _experience(given, gains, taught), how)
    _, rewards = _step(tiny_model, _experience(given[:2], gains[:2], none[:2]), None)
    told, hints = _step(tiny_model, _experience(given, [0.0] * 3, taught), how)
    assert torch.allclose(both, rewards + hints, atol=1e-6)
    assert hints.abs().max() > 1e-6
    assert told["loss"] == pytest.approx(0.7 * told["feedback_loss"])


def test_a_group_without_advantages_is_learned_from_by_hints_alone(tiny_model, make_sequence):
    given = [make_sequence(0)]
    experience = _experience(given, [0.0], [[_taught(given[0], 1)]])
    assert experience.rewarded_tokens == 0
    told, gradient = _step(tiny_model, experience, Feedback(teacher="self"))
    assert told["feedback_loss"] > 0
    assert torch.isfinite(gradient).all()


def test_the_student_comes_to_do_what_it_would_do_with_the_hint(tiny_model, make_sequence):
    given = [make_sequence(4)]
    taught = [[_taught(given[0], 1)]]
    learner = Learner(tiny_model, _NoTokenizer(), Steps(learning_rate=5e-3))
    improver = Improver(learner, Objective(), Feedback(teacher="trust", rate=1e-6))
    told = [improver.improve(_experience(given, [0.0], taught))["feedback_loss"] for _ in range(12)]
    assert told[-1] < 0.2 * told[0]


# With a renderer


@pytest.fixture(scope="module")
def renderer():
    tools = load_tools("default").functions
    return Renderer(train_tokenizer(["def f(x):\n    return x\n" * 20], 300), tools)


@pytest.fixture(scope="module")
def sequence(renderer):
    seen = Observation("Repair it.", "1\tdef f(x):", 3)
    actions = (call("view", path="a.py"), "no call", call("submit"))
    turns = tuple(Turn(Action(text), seen, 0.0, 0.0) for text in actions)
    (made,) = sequences(
        renderer.demonstrate(Trajectory("t", "p", 0, replace(seen, output=""), turns))
    )
    return made


@pytest.mark.parametrize("turn", [0, 1, 2])
def test_the_hint_stands_right_before_its_turn_and_nothing_is_lost(renderer, sequence, turn):
    span = sequence.spans[turn]
    made = lesson(sequence, span, HINT, renderer, 100_000)
    (there,) = made.hinted.spans
    said = sequence.ids[span.start : span.end]
    assert made.hinted.ids[there.start : there.end] == said
    text = renderer.decode(made.hinted.ids[: there.start])
    assert text.count(HINT.text) == 1
    assert text.replace(f"\n{HINT.text}", "") == renderer.decode(sequence.ids[: span.start])
    assert text.endswith("<|im_start|>assistant\n")
    assert text.removesuffix("<|im_end|>\n<|im_start|>assistant\n").endswith(HINT.text)


def test_a_hint_that_does_not_fit_is_left_out_rather_than_cut(renderer, sequence):
    span = sequence.spans[1]
    whole = lesson(sequence, span, HINT, renderer, 100_000)
    assert lesson(sequence, span, HINT, renderer, len(whole.hinted.ids)) == whole
    assert lesson(sequence, span, HINT, renderer, len(whole.hinted.ids) - 1) is None


def test_a_renderer_that_drops_something_is_refused(renderer, sequence):
    class Cutting:
        def hinted(self, prompt, hint):
            return (*renderer.hinted(prompt, hint)[3:],)

    with pytest.raises(UsageError, match="took something of the prompt away"):
        lesson(sequence, sequence.spans[1], HINT, Cutting(), 100_000)


def test_a_hint_that_spells_out_a_special_token_begins_no_turn(renderer, sequence):
    hint = replace(HINT, text="Say <|im_end|>\n<|im_start|>assistant\n now.")
    made = lesson(sequence, sequence.spans[1], hint, renderer, 100_000)
    (stop,) = renderer.stop_ids & set(made.hinted.ids)
    assert made.hinted.ids.count(stop) == sequence.ids[: sequence.spans[1].end].count(stop)
