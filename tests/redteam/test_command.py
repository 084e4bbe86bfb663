"""``codegym redteam`` as a user runs it: a process of its own."""

import json
import os
import signal
import subprocess
import sys

import pytest

from codegym.cli import redteam
from codegym.redteam import Report
from codegym.redteam.page import render


def _start(home, *arguments, **options):
    command = [sys.executable, "-m", "codegym", "redteam", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = {**os.environ, "COLUMNS": "200"}
    return subprocess.Popen(command, cwd=home, env=env, **pipes, **options)


def _run(home, *arguments):
    with _start(home, *arguments) as process:
        out, err = process.communicate(timeout=110)
    assert "Traceback" not in err, err
    return process.returncode, out, err


SOME = ("--tasks", "tiny", "--attack", "git-stash", "--attack", "malformed-actions")


def test_json_is_what_was_agreed(home, tmp_path):
    status, out, _ = _run(home, *SOME, "--json", "--out", tmp_path / "report")
    told = json.loads(out)
    assert status == 0
    assert [each["name"] for each in told["attacks"]] == ["git-stash", "malformed-actions"]
    for each in told["attacks"]:
        assert each["class"] in {"git", "leftovers", "grading", "lifecycle"}
        assert each["outcome"] in {"impossible", "refused", "detected"}
        assert each["evidence"]
        assert each["task"] == "tiny-0"
    assert (told["total"], told["succeeded"], told["false_positives"]) == (2, 0, 0)
    assert [each["score"] for each in told["controls"]] == [1.0]
    assert told["complete"]
    page = (tmp_path / "report" / "redteam.html").read_text()
    assert "git-stash" in page
    assert "0 of 2 attacks got through" in page


def test_the_report_is_a_table(home):
    status, out, err = _run(home, *SOME)
    assert status == 0
    assert "git-stash" in out
    assert "0 of 2 attacks got through; 0 of 1 honest solution graded below 1" in out
    assert "2 of 2" in err


def test_attacks_are_listed(home):
    status, out, _ = _run(home, "--list", "--attack", "git-stash")
    assert status == 0
    assert out == "git-stash  git        A stash keeps work that was put away\n"
    assert json.loads(_run(home, "--list", "--json")[1])["total"] >= 70


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--attack", "git-stahs"), "did you mean 'git-stash'"),
        (("--tasks", "nowhere"), "nowhere"),
        (("--tasks", "tiny", "--out", "file"), "is a file, where a folder is wanted"),
        (("--tasks", "tiny", "--backend", "bubblewarp"), "bubblewrap"),
    ],
)
def test_what_cannot_be_is_told(home, arguments, said):
    (home / "file").touch()
    status, _, err = _run(home, *arguments)
    assert status == 2
    assert said in err


def test_where_nothing_was_played_no_pass_is_told(capsys):
    redteam._print(Report(), None)
    told = capsys.readouterr().out
    assert told.startswith("no attack was played to its end: nothing is known")
    assert "got through" not in told
    page = render(Report(), "tiny")
    assert "<h1>no attack was played to its end</h1>" in page
    assert "got through" not in page


def test_a_run_that_is_stopped_tells_what_was_done(home, tmp_path):
    arguments = ("--tasks", "tiny", "--workers", 1, "--json", "--out", tmp_path)
    with _start(home, *arguments) as process:
        lines = []
        while len(lines) < 2 or "2 of " not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    told = json.loads(out)
    assert process.returncode == 130, err
    assert 2 <= told["total"] < 70
    assert not told["complete"]
    assert "stopped before its end" in (tmp_path / "redteam.html").read_text()
