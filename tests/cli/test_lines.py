"""How far work is where there is no terminal."""

import io

from rich.console import Console

from codegym.cli import lines
from codegym.cli.lines import Lines


def test_lines_come_now_and_then(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(lines.time, "monotonic", lambda: now[0])
    file = io.StringIO()
    log = Lines(Console(file=file))
    for second in range(100):
        now[0] += 1.0
        log.tell("solved 1/2", second, 100)
    assert file.getvalue().splitlines() == [
        f"solved 1/2 ({second} of 100)" for second in (29, 59, 89)
    ]
    now[0] += 30.0
    log.tell("packing")
    assert file.getvalue().endswith("\npacking\n")


def test_a_terminal_has_a_bar_instead(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(lines.time, "monotonic", lambda: now[0])
    file = io.StringIO()
    log = Lines(Console(file=file, force_terminal=True))
    now[0] += 99.0
    log.tell("running", 1, 2)
    assert file.getvalue() == ""
