"""Whatever a policy sends, it is a call or an answer; nothing raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.envs.actions import MAX_ACTION_CHARS, Call, Malformed, parse
from codegym.envs.tools import load_tools
from codegym.types import call

SCHEMAS = load_tools("default").schemas
ANYTHING = {
    "free": {
        "type": "object",
        "properties": {
            "value": {},
            "number": {"type": "number", "minimum": 1, "maximum": 5},
            "choice": {"enum": ["a", 1]},
            "flag": {"type": "boolean"},
            "either": {"type": ["string", "null"]},
        },
        "additionalProperties": False,
    }
}


def problem(text, schemas=SCHEMAS):
    result = parse(text, schemas)
    assert isinstance(result, Malformed), result
    return result.problem


def test_a_call_written_by_codegym_is_read_back():
    action = call("edit", path="src/ä.py", old="a\n\t", new='"')
    assert parse(action, SCHEMAS) == Call("edit", {"path": "src/ä.py", "old": "a\n\t", "new": '"'})


def test_arguments_may_be_left_out_where_none_is_needed():
    assert parse('{"name": "submit"}', SCHEMAS) == Call("submit", {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ls -la", "not JSON (Expecting value at line 1, column 1)"),
        ('{"name": "bash",}', "not JSON"),
        ("", "not JSON"),
        ("[]", "expected a JSON object, got array"),
        ("null", "got null"),
        ('{"name": "bash", "name": "submit"}', "the key 'name' is there twice"),
        (
            '{"name": "bash", "arguments": {"command": "a", "command": "b"}}',
            "'command' is there tw",
        ),
        ('{"arguments": {}}', '"name" is missing'),
        ('{"name": "bash", "args": {}}', "unknown key 'args'"),
        ('{"name": "bahs", "arguments": {}}', "did you mean 'bash'?; tools: bash, view"),
        ('{"name": 7}', "no tool named 7; tools: bash"),
        ('{"name": ["bash"]}', "no tool named ['bash']"),
        ('{"name": "bash", "arguments": ["ls"]}', '"arguments" must be an object, got array'),
        ('{"name": "bash", "arguments": "ls"}', '"arguments" must be an object, got string'),
        (call("bash"), "bash: the argument 'command' is missing"),
        (call("bash", cmd="ls"), "'command' is missing"),
        (call("bash", command="ls", comand="x"), "unknown argument 'comand'; did you mean"),
        (call("submit", answer=1), "unknown argument 'answer'; it takes: none"),
        (call("bash", command=3), "bash.command: expected string, got integer"),
        (call("bash", command=None), "expected string, got null"),
        (call("bash", command="x", timeout_sec=True), "expected number, got boolean"),
        (call("bash", command="x", timeout_sec=0), "must be at least 0.1"),
        (call("view", path=".", start_line=1.5), "expected integer, got number"),
        (call("run_tests", ids=["a", 3]), "run_tests.ids[1]: expected string, got integer"),
        (call("bash", command="a\0b"), "bash.command: holds a NUL"),
        ('{"name": "bash", "arguments": {"command": "\\ud800"}}', "half of a surrogate pair"),
        ('{"name": "bash", "arguments": {"command": NaN}}', "NaN is no JSON number"),
        ('{"name": "bash", "arguments": {"command": "x", "timeout_sec": 1e999}}', "too large"),
        ("1" * 10_000, "not usable JSON"),
    ],
)
def test_a_flaw_is_named(text, says):
    assert says in problem(text)


@pytest.mark.parametrize("value", [None, 3, b"{}", [], {"name": "bash"}, float("nan")])
def test_what_is_no_text_is_answered(value):
    assert "expected text" in problem(value)


def test_length_is_bounded():
    longest = call("bash", command="x")
    longest = longest.replace('"x"', '"' + "x" * (MAX_ACTION_CHARS - len(longest) + 1) + '"')
    assert isinstance(parse(longest, SCHEMAS), Call)
    assert "more than the" in problem(longest + " ")


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deep_nesting_is_answered(depth):
    assert problem("[" * depth + "]" * depth)
    nested = '{"name": "free", "arguments": {"value": ' + "[" * depth + "]" * depth + "}}"
    assert isinstance(parse(nested, ANYTHING), Call | Malformed)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"number": 0}, "at least 1"),
        ({"number": 6}, "at most 5"),
        ({"choice": "b"}, 'must be one of ["a", 1]'),
        ({"flag": 1}, "expected boolean, got integer"),
        ({"value": 10**400}, "too large"),
        ({"either": 1}, "expected string or null, got integer"),
        ({"value": {"deep": ["a\0"]}}, "NUL"),
        ({"value": {"a\0": 1}}, "NUL"),
    ],
)
def test_the_part_of_json_schema_that_plug_ins_use(arguments, says):
    assert says in problem(call("free", **arguments), ANYTHING)


def test_values_that_the_schema_permits_pass():
    arguments = {"number": 5, "choice": 1, "flag": False, "either": None, "value": {"a": [1, "é"]}}
    assert parse(call("free", **arguments), ANYTHING) == Call("free", arguments)


@given(st.text() | st.binary() | st.integers() | st.none())
def test_any_value_is_answered(value):
    assert isinstance(parse(value, SCHEMAS), Malformed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(
    name=st.sampled_from(sorted(SCHEMAS)),
    arguments=st.dictionaries(
        st.sampled_from(["command", "path", "old", "new", "ids", "content", "pattern", "x"]), JSON
    ),
)
def test_a_call_that_passes_fits_its_schema(name, arguments):
    result = parse(json.dumps({"name": name, "arguments": arguments}), SCHEMAS)
    if isinstance(result, Call):
        schema = SCHEMAS[name]
        assert set(schema.get("required", ())) <= set(result.arguments) <= set(schema["properties"])
        for value in result.arguments.values():
            for text in value if isinstance(value, list) else [value]:
                if isinstance(text, str):
                    text.encode()  # no lone surrogate
                    assert "\0" not in text
