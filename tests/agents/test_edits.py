"""Policies that repair by one edit: what they find, what they do, and that they see no answer."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutants import make_mutant_home

from codegym.agents import load_policy
from codegym.agents.edits.choices import _edits, choices
from codegym.agents.edits.context import BUCKETS, WIDTH, features
from codegym.agents.edits.prior import Prior, is_answer
from codegym.agents.edits.survey import as_call, surveyed
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.errors import UsageError
from codegym.grading.setting import Setting
from codegym.mutation.suspicion import hottest
from codegym.registration import resolve
from codegym.syntax import parse

#: Of these, the answer is among the first three edits.
EASY = {"tiny-minus", "tiny-one", "tiny-empty"}

SOURCE = b"""\
def total(numbers, start=0):
    result = start
    for number in numbers:
        if number > 0 and number != 7:
            result += number
    return sorted([result])[0] - 1
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_mutant_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


def edits_of(source=SOURCE, heat=None, limit=1000):
    return choices({"a.py": parse(source, "python")}, heat or {}, limit)


def test_choices_are_the_same_again_and_no_two_make_the_same():
    edits = edits_of()
    assert [(e.path, e.edit) for e in edits] == [(e.path, e.edit) for e in edits_of()]
    assert len({e.mutant for e in edits}) == len(edits) > 20
    assert [e.edit for e in edits_of(limit=5)] == [e.edit for e in edits[:5]]
    assert edits_of(b"") == ()


def test_what_is_remembered_of_a_file_is_of_that_file_alone():
    """Edits are found once for each path, text and language."""

    def told(edits):
        return [(e.path, e.operator, e.edit, e.mutant, e.source.source) for e in edits]

    other, script = SOURCE.replace(b"!= 7", b"== 8"), b"let total = (a, b) => a + b > 3;\n"
    asked = [
        {"a.py": parse(SOURCE, "python")},
        {"b.py": parse(SOURCE, "python"), "a.py": parse(other, "python")},
        {"a.js": parse(script, "javascript")},
        {"a.js": parse(script, "typescript")},
    ]
    warm = [told(choices(files, {}, 1000)) for files in (*asked, *asked)]
    fresh = []
    for files in asked:
        _edits.cache_clear()
        fresh.append(told(choices(files, {}, 1000)))
    assert all(fresh)
    assert warm == [*fresh, *fresh]


def test_suspicious_places_come_first():
    heat = {"a.py": {6: 1.0, 4: 0.5}}
    hots = [hottest(edit, heat) for edit in edits_of(heat=heat)]
    assert hots == sorted(hots, reverse=True)
    assert set(hots) == {1.0, 0.5, 0.0}


def test_features_are_numbers_of_their_own_field():
    edits = edits_of()
    rows = features(edits, {})
    assert rows.shape == (len(edits), WIDTH)
    assert rows.min() >= 1
    assert rows.max() < BUCKETS
    assert len({tuple(row) for row in rows.tolist()}) > len(edits) / 2


@given(st.data())
def test_an_edit_as_a_call_makes_exactly_that_edit(data):
    edit = data.draw(st.sampled_from(edits_of(SOURCE + SOURCE.replace(b"total", b"other"))))
    arguments = json.loads(as_call(edit))["arguments"]
    old, new = arguments["old"].encode(), arguments["new"].encode()
    assert edit.source.source.count(old) == 1
    assert edit.source.source.replace(old, new) == edit.mutant


@pytest.mark.parametrize("output", ["", "12\n!!", "0\n", "9\nbm90IHppcA==", "5\neJwrAA"])
def test_a_survey_that_cannot_be_read_has_no_edits(output):
    assert surveyed((output,), 10).edits == ()


def test_a_prior_counts_answers_and_scores_them_above_others():
    tasks = list(resolve("tiny"))
    prior = Prior.of(tasks)
    assert sum(prior.answers[key] for key in prior.answers if isinstance(key, str)) >= 4
    task = next(task for task in tasks if task.instance_id == "tiny-minus")
    edits = edits_of(SOURCE.replace(b"+=", b"-="))
    best = edits[prior.best(edits)]
    assert prior.score(best) == max(map(prior.score, edits))
    assert not any(is_answer(task, edit) for edit in edits)  # of another file
    tried = [prior.best(edits)]
    assert prior.best(edits, tried) not in tried


@pytest.fixture
async def play():
    """Plays a policy on three mutants, in real sandboxes; gives results by task."""
    setting = Setting.on("auto")
    source = resolve("tiny").only(lambda task: task.instance_id in EASY)

    async def run(policy):
        rollouts = Rollouts(setting, source, EpisodeOptions(), workers=2)
        return {one.task.instance_id: one async for one in rollouts.run(policy)}

    yield run
    await setting.close()


async def test_with_attempts_for_all_edits_every_fault_that_has_an_inverse_is_repaired(play):
    options = {"attempts": "3", "candidates": "3"}
    results = await play(load_policy("random_edit", resolve("tiny"), options))
    assert not [one.error for one in results.values() if one.fault]
    assert {name for name, one in results.items() if one.grade.solved} == EASY
    for one in results.values():
        assert not one.grade.tampering
        names = {json.loads(turn.action.text)["name"] for turn in one.trajectory.turns}
        assert names <= {"bash", "edit", "run_tests", "submit"}


async def test_unigram_tries_first_what_it_learned(play):
    results = await play(load_policy("unigram:tiny", resolve("tiny")))
    assert results["tiny-minus"].grade.solved
    assert not [one.error for one in results.values() if one.fault]


def test_another_number_of_attempts_is_another_policy():
    versions = {
        load_policy(name, resolve("tiny"), {"attempts": attempts}).version
        for name in ("random_edit", "unigram:tiny")
        for attempts in ("1", "4")
    }
    assert len(versions) == 4


def test_unigram_must_be_told_what_to_learn_from():
    with pytest.raises(UsageError, match="learn_from"):
        load_policy("unigram", resolve("tiny"))


def test_what_it_does_follows_from_the_history_alone():
    from codegym.types import History, Observation

    first = Observation("Do not change tests or their set-up (tests/**).", "", 50)
    history = History("t", (), first, (), 3)
    one, other = (load_policy("random_edit", resolve("tiny")) for _ in range(2))
    actions = [asyncio.run(policy.act(history)).text for policy in (one, other, one)]
    assert actions[0] == actions[1] == actions[2]
    assert '\\"tests/**\\"' in actions[0]
