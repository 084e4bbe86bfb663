"""What is printed cannot steer the terminal, and JSON is JSON."""

import json
import signal
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import codegym.cli
import codegym.cli.app
from codegym.cli.output import plain, safe
from codegym.cli.replay import describe, shorten
from codegym.runs import Pins, RunFolder
from codegym.types import Action, EpisodeResult, Grade, Observation, Task, Trajectory, Turn, call

ESCAPES = "\x1b[2J\x1b]0;owned\x07 a\rb \x9b31m \u202etxt.exe"


@given(st.text())
def test_no_control_character_is_left(text):
    left = {char for char in safe(text) if unicodedata.category(char) == "Cc"}
    assert left <= {"\n", "\t"}
    assert safe("plain é ≠ text\n\tas it is") == "plain é ≠ text\n\tas it is"


def test_a_recorded_escape_sequence_is_shown_not_obeyed(codegym, tmp_path):
    pins = Pins("0", "i", "k", "t", "d", {}, {}, {}, "noop", "1", {}, 1, 0, {})
    task = Task(f"t{ESCAPES}", "e", "c", "p", ("x",), ())
    seen = Observation(ESCAPES, ESCAPES, 1)
    action = Action(call("bash", command=ESCAPES), thought=f"{ESCAPES} thought", note="noted")
    turns = (Turn(action, seen, 0.0, 0.0),) * 2
    grade = Grade(0.0, text=ESCAPES)
    with RunFolder(tmp_path, pins) as run:
        trajectory = Trajectory("t", ESCAPES, 0, seen, turns, terminated=True)
        run.finish(EpisodeResult(0, task, trajectory, grade, 0.0, diff=ESCAPES))
    ran = codegym("replay", tmp_path)
    assert ran.status == 0
    assert "\u241b[2J" in ran.out
    assert "thought" in ran.out
    assert "noted" in ran.out
    for char in "\x1b\x07\x9b\u202e":
        assert char not in ran.out


def test_an_error_steers_no_terminal(codegym, tmp_path):
    ran = codegym("check", tmp_path / "\x1b[2Jtasks.jsonl")
    assert ran.status == 2
    assert "\u241b[2Jtasks.jsonl" in ran.err
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[1]", '{"name": 3}', '{"name": "a", "arguments": [1]}', "[" * 9999]
)
def test_any_action_can_be_described(text):
    assert isinstance(describe(text), str)


def test_a_tool_call_is_described_by_its_arguments():
    assert describe(call("bash", command="pytest -q")) == "bash pytest -q"
    assert describe(call("submit")) == "submit"


@given(st.lists(st.sampled_from(["a", "b"]), max_size=60), st.integers(2, 20))
def test_shorten_keeps_both_ends(lines, most):
    text = "\n".join(lines)
    short = shorten(text, most)
    assert short.count("\n") <= most
    assert short == text or (short[0], short[-1]) == (text[0], text[-1])


def test_plain_is_json():
    value = plain({"a": (1.23456789, float("nan"), {2, 1}), "b": Grade(1.0, text="é")})
    assert value["a"] == [1.23457, None, [1, 2]]
    assert value["b"]["score"] == 1.0
    assert json.loads(json.dumps(value)) == value


COMMAND = """
import faulthandler, signal, sys
faulthandler.register(signal.SIGUSR1, all_threads=True)
from codegym.cli import main
print("up", flush=True)
sys.argv[1:] = ["run", "CodeGym/FixTests-v0", "--tasks", "tiny", "--policy", "noop",
                "--samples", "9", "--out", sys.argv[1]]
main()
"""


@pytest.mark.parametrize("after_sec", [0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0])
def test_ctrl_c_at_any_moment(home, tmp_path, after_sec):
    """Whenever it comes: no traceback, and a status that says so (or that all was done already)."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, tmp_path / "run"],
        cwd=home,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "up\n"
    time.sleep(after_sec)
    process.send_signal(signal.SIGINT)
    _, said = ended(process)
    assert process.returncode in (130, 0), said
    assert "Traceback" not in said


def ended(process):
    """What it printed; one that does not end says where it is, and is killed."""
    try:
        return process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        process.kill()
        return process.communicate()


def test_ctrl_c_while_a_class_is_made_is_no_error_of_the_class(monkeypatch):
    def app():
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("codegym.cli.app.app", app)
    monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)  # put back
    with pytest.raises(SystemExit) as ended:
        codegym.cli.main()
    assert ended.value.code == codegym.cli.INTERRUPTED


IN_A_CALLBACK = """
import signal, time, weakref
import codegym.cli
from codegym.cli import app

class Lock:
    pass

def waits():
    lock = Lock()
    reference = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGINT))
    del lock
    time.sleep(50)

app.app = waits
codegym.cli.main()
"""


def test_ctrl_c_in_a_callback_is_not_lost():
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_CALLBACK],
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (130, "")
