"""Calls are read in the forms that models write them in; whatever is written, nothing raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.agents.lm.parsing import parse
from codegym.envs.actions import Call
from codegym.envs.actions import parse as parse_action
from codegym.envs.tools import load_tools
from codegym.types import call

TOOLS = load_tools("default")
LS = '{"name": "bash", "arguments": {"command": "ls"}}'


def read(text):
    return parse(text, TOOLS.functions)


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{LS}\n</tool_call>",
        f"<tool_call>{LS}",
        '<tool_call>\n{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}\n</tool_call>',
        (
            "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>\n"
            "</tool_call>"
        ),
        '<function=bash>{"command": "ls"}</function>',
        (
            '<function_calls><invoke name="bash"><parameter name="command">ls</parameter></invoke>'
            "</function_calls>"
        ),
        '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}<|eom_id|>',
        '<|python_tag|>bash.call(command="ls")',
        '{"name": "bash", "parameters": {"command": "ls"}}',
        '{"type": "function", "function": {"name": "bash", "parameters": {"command": "ls"}}}',
        f"[TOOL_CALLS][{LS}]",
        f"[TOOL_CALLS]{LS}",
        '[TOOL_CALLS]bash[ARGS]{"command": "ls"}',
        '[TOOL_CALLS] bash [CALL_ID]a1b2c3d4e[ARGS] {"command": "ls"}',
        '[TOOL_CALLS]bash{"command": "ls"}',
        f"```json\n{LS}\n```",
        f"```\n{LS}",
        LS,
    ],
)
def test_each_form_is_a_call(text):
    for before, thought in (("", ""), ("I look first.\n", "I look first.")):
        parsed = read(before + text)
        assert parsed.called
        assert parsed.action == call("bash", command="ls")
        assert parsed.thought == thought
        assert parsed.note == ""
        assert isinstance(parse_action(parsed.action, TOOLS.schemas), Call)


def test_text_values_are_typed_by_the_schema():
    text = (
        "<function=bash><parameter=command>\n  echo 1\necho 2\n\n</parameter>"
        "<parameter=timeout_sec>2.5</parameter></function>"
    )
    assert json.loads(read(text).action)["arguments"] == {
        "command": "  echo 1\necho 2\n",
        "timeout_sec": 2.5,
    }
    ids = '<function=run_tests><parameter=ids>["a", "b"]</parameter></function>'
    assert json.loads(read(ids).action)["arguments"] == {"ids": ["a", "b"]}
    number = "<function=bash><parameter=command>5</parameter></function>"
    assert json.loads(read(number).action)["arguments"] == {"command": "5"}


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "bash", "arguments": {"command": "ls"}</tool_call>',
        '<tool_call>{"name": "bash", "arguments": ["ls"]}</tool_call>',
        "<tool_call>bash ls</tool_call>",
        "<function=bash><parameter=command>ls",
        "<function=bash>ls</function>",
        "[TOOL_CALLS]",
        "[TOOL_CALLS][1, 2]",
        "<|python_tag|>import os",
        "<|python_tag|>bash.call('ls')",
        "no call at all",
        "",
    ],
)
def test_what_is_wrong_becomes_an_action_that_is_answered_as_malformed(text):
    parsed = read("Hm. " + text)
    assert not parsed.called
    assert not isinstance(parse_action(parsed.action, TOOLS.schemas), Call)


def test_a_broken_call_does_not_hide_a_sound_one():
    parsed = read(f"<tool_call>{{broken</tool_call> again: <tool_call>{LS}</tool_call>")
    assert parsed.called
    assert parsed.action == call("bash", command="ls")
    assert parsed.note == "1 more calls in the same reply were not made"


def test_only_the_first_call_counts():
    more = '<tool_call>{"name": "submit", "arguments": {}}</tool_call>'
    parsed = read(f"<tool_call>{LS}</tool_call>{more}{more}")
    assert parsed.action == call("bash", command="ls")
    assert parsed.note == "2 more calls in the same reply were not made"
    listed = read('[TOOL_CALLS][{"name": "submit", "arguments": {}}, ' + LS + "]")
    assert (listed.action, listed.note[:1]) == (call("submit"), "1")


@pytest.mark.parametrize("opened", ["<think>", ""])
def test_a_call_that_was_only_thought_of_is_not_made(opened):
    text = f"{opened}Maybe <tool_call>{LS}</tool_call>?</think>\n"
    parsed = read(text + '<tool_call>{"name": "submit", "arguments": {}}</tool_call>')
    assert (parsed.action, parsed.called) == (call("submit"), True)
    assert "Maybe" in parsed.thought
    assert not read(text).called
    assert not read(f"<think>never ends {LS}").called


PIECES = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<function=bash>", "</function>", "<parameter=command>",
        "</parameter>", '<invoke name="x">', "<|python_tag|>", "<|eom_id|>", "[TOOL_CALLS]",
        "[ARGS]", "[CALL_ID]", "<think>", "</think>", "```json\n", "```", LS, "{", "}", '"', "[",
        "]", "\n", "a(", "\x00", "\ud800", "(" * 300, "1e999", "NaN", "bash.call(command=",
        "{'a': {1}}",
    ]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=9), max_size=12).map("".join))
def test_nothing_raises_and_a_call_is_one_object(text):
    parsed = read(text)
    if parsed.called:
        assert set(json.loads(parsed.action)) == {"name", "arguments"}
    parse_action(parsed.action, TOOLS.schemas)


@given(
    st.sampled_from(sorted(TOOLS.schemas)),
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers(), max_size=3),
)
def test_any_arguments_come_back_from_a_hermes_call(name, arguments):
    text = json.dumps({"name": name, "arguments": arguments})
    if "</tool_call>" in text or "</think>" in text:
        return
    parsed = read(f"<tool_call>\n{text}\n</tool_call>")
    assert json.loads(parsed.action) == {"name": name, "arguments": arguments}
