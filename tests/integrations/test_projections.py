"""What other trainers are given agrees with the tokens that were sampled, one for one."""

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import UsageError
from codegym.integrations import projections as to
from codegym.types import (
    Action,
    EpisodeResult,
    Grade,
    Observation,
    Task,
    TokenTrace,
    Trajectory,
    Turn,
    call,
)

IDS = st.lists(st.integers(0, 99), max_size=5).map(tuple)
TEXTS = st.sampled_from([call("bash", command='echo "é"'), "no call", call("submit")])
TASK = Task("t", "tiny", "0", "", ("a",), ())


@st.composite
def trajectories(draw):
    """Episodes whose context was full now and then, and that sampled nothing at some turns."""
    turns, before = [], ()
    for number in range(draw(st.integers(0, 6))):
        given = draw(IDS)
        prompt = before + given if number and draw(st.integers(0, 3)) else (100, number, *given)
        said = draw(IDS)
        trace = TokenTrace(prompt, said, tuple(-0.5 - n for n in range(len(said))))
        before = prompt + said
        action = Action(draw(TEXTS), trace, thought="hm")
        seen = Observation("Fix it.", f"out {number}", 9 - number, 0)
        turns.append(Turn(action, seen, float(number == 5), 0.25))
    return Trajectory("t", "p", 0, Observation("Fix it.", "", 9), tuple(turns), bool(turns))


def traces(trajectory):
    """What was sampled, in order, with what it was sampled after."""
    found = [turn.action.tokens for turn in trajectory.turns]
    return [trace for trace in found if trace.completion_ids]


def sampled(ids, mask, logprobs, start):
    """Each run of the model's tokens with its logprobs and all that precedes it."""
    runs, place = [], 0
    while place < len(ids):
        end = place
        while end < len(ids) and bool(mask[end]) == bool(mask[place]):
            end += 1
        if mask[place]:
            runs.append((start + ids[:place], ids[place:end], logprobs[place:end]))
        place = end
    return runs


def agree(trajectory, rows):
    """Runs of masked tokens are the completions; where two meet, nothing was given between."""
    wanted = [
        (list(trace.prompt_ids), list(trace.completion_ids), list(trace.logprobs))
        for trace in traces(trajectory)
    ]
    merged = []
    for prompt, said, logprobs in wanted:
        if merged and prompt == merged[-1][0] + merged[-1][1]:
            merged[-1] = (merged[-1][0], merged[-1][1] + said, merged[-1][2] + logprobs)
        else:
            merged.append((prompt, said, logprobs))
    got = []
    for prompt, ids, mask, logprobs in rows:
        assert len(ids) == len(mask) == len(logprobs)
        assert all(value == 0 for value, own in zip(logprobs, mask, strict=True) if not own)
        got += sampled(ids, mask, logprobs, prompt)
    assert got == merged


@given(trajectories())
def test_trl_and_verl_agree_with_the_trace(trajectory):
    rows = to.to_trl(trajectory)
    agree(trajectory, [(r.prompt_ids, r.completion_ids, r.env_mask, r.logprobs) for r in rows])
    assert all(row.reward == sum(turn.reward for turn in trajectory.turns) for row in rows)
    outputs = to.to_verl(trajectory)
    for row, output in zip(rows, outputs, strict=True):
        assert output.prompt_ids == row.prompt_ids
        assert output.response_ids == row.completion_ids
        assert output.response_mask == row.env_mask
        assert output.response_logprobs == row.logprobs
        assert output.reward_score == row.reward
    said = sum(len(trace.completion_ids) for trace in traces(trajectory))
    assert sum(sum(row.env_mask) for row in rows) == said
    assert sum(output.num_turns for output in outputs) == 2 * len(traces(trajectory))


@given(st.lists(trajectories(), max_size=3))
def test_skyrl_has_an_item_for_each_sequence(several):
    made = to.to_skyrl(several)
    rows = [row for trajectory in several for row in to.to_trl(trajectory)]
    assert made.response_ids == [row.completion_ids for row in rows]
    assert made.loss_masks == [row.env_mask for row in rows]
    lists = [getattr(made, f.name) for f in fields(made) if f.name != "rollout_metrics"]
    assert {len(each) for each in lists} == {len(rows)}
    assert sum(made.is_last_step) == sum(bool(traces(each)) for each in several)


@given(trajectories())
def test_verifiers_paths_add_up_to_what_the_model_saw(trajectory):
    nodes = to.to_verifiers(trajectory)
    seen = []
    for place, node in enumerate(nodes):
        assert node.parent is None or node.parent == place - 1
        assert len(node.mask) == len(node.token_ids)
        assert len(node.logprobs) == sum(node.mask)
        if not node.sampled:
            continue
        path, at = [], place
        while at is not None:
            path.insert(0, nodes[at])
            at = nodes[at].parent
        seen.append([token for each in path for token in each.token_ids])
        assert node.message["role"] == "assistant"
    assert seen == [[*trace.prompt_ids, *trace.completion_ids] for trace in traces(trajectory)]


@given(trajectories())
def test_art_choices_name_every_token(trajectory):
    result = EpisodeResult(0, TASK, trajectory, Grade(1.0), 1.0)
    made = to.to_art(result, [{"type": "function"}])
    choices = [each for one in made for each in one.messages_and_choices if "finish_reason" in each]
    wanted = traces(trajectory)
    for choice, trace in zip(choices, wanted, strict=True):
        tokens = choice["logprobs"]["content"]
        assert [int(each["token"].split(":")[1]) for each in tokens] == list(trace.completion_ids)
        assert [each["logprob"] for each in tokens] == list(trace.logprobs)
    for one in made:
        assert one.messages_and_choices[0] == {"role": "user", "content": "Fix it."}
        assert one.metrics["solved"] == 1.0
        json.dumps(to.arguments(one))


def test_messages_are_calls_and_their_answers():
    seen = Observation("Fix it.", "out", 8, 0)
    turns = (
        Turn(Action(call("bash", command="ls"), TokenTrace((1,), (2,), (-1.0,))), seen, 0.0, 0.1),
        Turn(Action("hm", TokenTrace((1, 2, 3), (4,), (-1.0,))), seen, 0.0, 0.1),
        Turn(Action("end", TokenTrace((1, 2, 3, 4, 5), (6,), (-1.0,))), seen, 1.0, 0.1),
    )
    trajectory = Trajectory("t", "p", 0, Observation("Fix it.", "", 9), turns, terminated=True)
    roles = [node.message["role"] for node in to.to_verifiers(trajectory)]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    made = to.to_verifiers(trajectory)[1].message["tool_calls"][0]
    assert to.to_verifiers(trajectory)[2].message["tool_call_id"] == made["id"]
    assert json.loads(made["arguments"]) == {"command": "ls"}
    (art,) = to.to_art(EpisodeResult(0, TASK, trajectory, None, 0.0))
    function = art.messages_and_choices[1]["message"]["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("bash", {"command": "ls"})
    assert to.arguments(to.to_trl(trajectory)[0])["env_mask"] == [1, 0, 1, 0, 1]


def test_actions_without_tokens_are_refused():
    turns = (Turn(Action("ls"), Observation("", "", 1), 0.0, 0.1),)
    with pytest.raises(UsageError, match=r"turn 1: an action without tokens.*hf:PATH"):
        to.to_trl(Trajectory("t", "p", 0, Observation("", "", 1), turns))
