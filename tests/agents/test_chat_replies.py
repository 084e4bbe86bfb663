"""Replies in every form that models write, and messages made of what happened."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.agents.chat import messages as chat
from codegym.agents.chat.replies import find_call, read_reply
from codegym.envs.actions import Malformed, parse
from codegym.envs.tools import load_tools
from codegym.types import Action, History, Observation, Turn, Usage, call

TOOLS = load_tools("default")
LS = call("bash", command="ls")


def body(message, finish="stop", **more):
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("reply", "before"),
    [
        (LS, ""),
        (f"I look.\n```json\n{LS}\n```", "I look."),
        (f"I look.\n```\n{LS}\n```\nThen I will see.", "I look."),
        (f"I look. {LS} And this is what it says: ok", "I look."),
        (f"```json\n{LS}", ""),
        (f"<think>maybe {call('submit')}</think>\n{LS}", ""),
        (f"a set {{1, 2}} and a dict {{'a': 1}}: {LS}", "a set {1, 2} and a dict {'a': 1}:"),
        (f"{LS}\n{call('submit')}", ""),
        (f"```python\nx = {{}}\n```\n```json\n{LS}\n```", "```python\nx = {}\n```"),
        ('{"tool": "bash", "parameters": {"command": "ls"}}', ""),
        ('{"function": {"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}}', ""),
        (f"<tool_call>\n{LS}\n</tool_call>", "<tool_call>"),
    ],
)
def test_a_call_is_found_in_text(reply, before):
    assert find_call(reply) == (LS, before)


def test_a_newline_within_a_string_is_what_models_write():
    found = find_call('{"name": "write", "arguments": {"path": "a", "content": "x\ny"}}')
    assert found is not None
    assert json.loads(found[0])["arguments"]["content"] == "x\ny"


@pytest.mark.parametrize(
    "reply", ["", "done", "{", '{"name": 3}', "[]", '{"a": {"name": "x"}}', "{" * 10_000]
)
def test_no_call_is_made_up(reply):
    assert find_call(reply) is None


@given(st.text())
def test_whatever_a_reply_holds_nothing_raises(text):
    reply = read_reply(body({"content": text}))
    assert reply is not None
    assert reply.called or reply.action == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "message": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": JSON,
                            "tool_calls": JSON
                            | st.lists(st.fixed_dictionaries({"function": JSON}), max_size=2),
                        },
                    )
                    | JSON,
                    "finish_reason": JSON,
                },
            )
            | JSON,
            max_size=2,
        )
        | JSON,
        "usage": JSON | st.dictionaries(st.sampled_from(["prompt_tokens"]), JSON),
    },
)


@given(JSON | SHAPED)
def test_whatever_an_endpoint_answers_nothing_raises(value):
    reply = read_reply(value)
    if reply is not None:
        assert isinstance(reply.action, str)
        assert reply.usage is None or reply.usage.total > 0
        parse(reply.action, TOOLS.schemas)


def test_a_native_call_whose_arguments_are_no_json_is_answered_as_malformed():
    broken = {"function": {"name": "bash", "arguments": '{"command": "ls'}}
    reply = read_reply(body({"content": None, "tool_calls": [broken]}))
    assert reply is not None
    assert not reply.called
    answer = parse(reply.action, TOOLS.schemas)
    assert isinstance(answer, Malformed)
    assert "not JSON" in answer.problem


def test_the_first_of_several_calls_is_made_and_the_rest_is_said():
    calls = [{"function": {"name": "bash", "arguments": {"command": "ls"}}}] * 3
    reply = read_reply(body({"content": "two things", "tool_calls": calls}))
    assert reply is not None
    assert (reply.action, reply.thought) == (LS, "two things")
    assert reply.note == "2 more calls in the same reply were not made"


def test_usage_and_parts_are_read():
    reply = read_reply(
        body(
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, 3]},
            "length",
            usage={"prompt_tokens": 7, "completion_tokens": True},
        )
    )
    assert reply is not None
    assert (reply.action, reply.cut, reply.usage) == ("a", True, Usage(7, 0))


def test_a_call_as_the_protocol_had_it_before_is_read():
    reply = read_reply(body({"content": None, "function_call": {"name": "submit"}}))
    assert reply is not None
    assert (reply.action, reply.called) == (call("submit"), True)


def test_counts_that_cannot_be_are_none():
    for count in (10**30, -1, "7", 2.5):
        usage = {"prompt_tokens": count, "completion_tokens": count}
        reply = read_reply(body({"content": "a"}, usage=usage))
        assert reply is not None
        assert reply.usage is None


# Messages


def history(turns=(), instruction="Mend it."):
    first = Observation(instruction, "", 50)
    return History("t", TOOLS.functions, first, tuple(turns), 1)


def turn(text, output="out", note="", thought="", exit_code=0, left=40):
    seen = Observation("Mend it.", output, left, exit_code)
    return Turn(Action(text, note=note, thought=thought), seen, 0.0, 0.1)


def test_native_messages_pair_each_call_with_its_answer():
    sent = chat.build(history([turn(LS, thought="Look.")]), text_form=False)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    (made,) = sent[2]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == {"command": "ls"}
    assert sent[3]["tool_call_id"] == made["id"]
    assert sent[2]["content"] == "Look."
    assert sent[3]["content"] == "out\n[exit status 0, 40 steps left]"


def test_in_text_form_the_prompt_says_how_and_the_example_can_be_read():
    sent = chat.build(history([turn(LS, thought="Look.")]), text_form=True)
    assert {message["role"] for message in sent} == {"system", "user", "assistant"}
    assert not any("tool_calls" in message for message in sent)
    assert all(f"- {name}: " in sent[0]["content"] for name in TOOLS.tools)
    assert find_call(sent[0]["content"])[0] == LS
    assert find_call(sent[2]["content"]) == (LS, "Look.")


def test_a_reply_without_a_call_gets_a_reminder():
    plain = turn("I am done.", "malformed action: not JSON", note=chat.NO_CALL, exit_code=-1)
    for text_form in (False, True):
        sent = chat.build(history([plain]), text_form=text_form)
        assert sent[2] == {"role": "assistant", "content": "I am done."}
        assert sent[3]["role"] == "user"
        assert sent[3]["content"].endswith("Reply with exactly one.\n[40 steps left]")
    cut = turn("I am d", "malformed", note=f"{chat.NO_CALL}; {chat.CUT}", exit_code=-1)
    assert "cut off" in chat.build(history([cut]), text_form=False)[3]["content"]


TURNS = st.lists(
    st.builds(
        turn,
        st.text() | st.sampled_from([LS, call("write", path="a", content="x" * 3000)]),
        st.integers(0, 6000).map(lambda n: "o" * n),
        st.sampled_from(["", chat.NO_CALL]),
    ),
    max_size=15,
)


@given(TURNS, st.booleans())
def test_leaving_out_more_never_sends_more_and_keeps_instruction_and_last_turns(turns, text_form):
    told = history(turns, "The instruction.")
    sizes = []
    for level in chat.levels(told):
        sent = chat.build(told, text_form=text_form, elided=level)
        assert len(sent) == 2 + 2 * len(turns)
        assert sent[1]["content"] == "The instruction."
        json.dumps(sent)
        if level <= max(0, len(turns) - chat.KEPT_TURNS):
            whole = chat.build(told, text_form=text_form)
            assert sent[-2 * chat.KEPT_TURNS :] == whole[-2 * chat.KEPT_TURNS :]
        for message in sent:
            for made in message.get("tool_calls", ()):
                assert isinstance(json.loads(made["function"]["arguments"]), dict)
        sizes.append(chat.characters(sent))
    # A short output may give way to a longer marker by a few characters, no more.
    assert all(later <= sooner + 20 for sooner, later in pairwise(sizes))
    assert bool(chat.note_of(chat.levels(told)[-1], told))


def test_what_is_left_out_is_marked():
    told = history([turn(LS, "o" * 5000) for _ in range(10)])
    sent = chat.build(told, text_form=False, elided=4)
    marked = [message for message in sent if "5000 characters of output left out" in str(message)]
    assert len(marked) == 4
    assert chat.note_of(4, told) == "context full: output of the 4 oldest turns left out"
