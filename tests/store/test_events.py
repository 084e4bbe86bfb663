"""A log that many processes write at once, and that a kill does not hurt."""

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

from codegym.errors import DataError, UnavailableError, UsageError
from codegym.store import EventLog

#: Appends pairs for ever, and says after each what is safe.
WRITER = """
import sys
from pathlib import Path
from codegym.store import EventLog
log = EventLog(Path(sys.argv[1]), "test")
number = 0
while True:
    log.append([f"{number} a", f"{number} b"])
    print(number, flush=True)
    number += 1
"""


def bodies(log, number=0):
    return [event.body for event in log.since(number)]


def test_events_come_back_in_order_and_only_new_ones_when_asked(tmp_path):
    log = EventLog(tmp_path / "deep" / "log", "test")
    assert bodies(log) == []
    assert not log.path.exists()
    log.append(["one", "two"])
    log.append(["three"])
    events = list(log.since(0))
    assert [event.body for event in events] == ["one", "two", "three"]
    assert bodies(log, events[1].number) == ["three"]
    assert bodies(EventLog(log.path, "test")) == ["one", "two", "three"]


def test_all_or_none_of_what_is_appended_is_there(tmp_path):
    log = EventLog(tmp_path / "log", "test")

    def broken():
        yield "one"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        log.append(broken())
    assert bodies(log) == []
    log.append(["two"])
    assert bodies(log) == ["two"]


def _checked(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


@pytest.mark.parametrize("killed_after", [1, 7, 40])
def test_a_killed_writer_loses_nothing_that_it_was_told_and_leaves_no_part(tmp_path, killed_after):
    path = tmp_path / "log"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        told = [int(writer.stdout.readline()) for _ in range(killed_after)]
        writer.send_signal(signal.SIGKILL)  # most likely in the middle of the next
        told += [int(line) for line in writer.stdout.read().split()]
    found = bodies(EventLog(path, "test"))
    pairs = [f"{number} {half}" for number in range(len(found) // 2) for half in "ab"]
    assert found == pairs
    assert len(found) // 2 >= told[-1] + 1
    assert _checked(path) == "ok"
    EventLog(path, "test").append(["after"])
    assert bodies(EventLog(path, "test"))[-1] == "after"


def _append(path, name, start):
    log = EventLog(path, "test")
    start.wait()
    for number in range(25):
        log.append([f"{name} {number}"])


def test_processes_that_begin_at_once_all_write_all(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    start = spawn.Event()
    jobs = [
        spawn.Process(target=_append, args=(tmp_path / "log", name, start)) for name in range(4)
    ]
    for job in jobs:
        job.start()
    start.set()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0] * 4
    found = bodies(EventLog(tmp_path / "log", "test"))
    assert len(found) == 100
    for name in range(4):
        own = [body for body in found if body.startswith(f"{name} ")]
        assert own == [f"{name} {number}" for number in range(25)]


def test_threads_share_one_log(tmp_path):
    log = EventLog(tmp_path / "log", "test")
    threads = [threading.Thread(target=log.append, args=([str(n)],)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(bodies(log), key=int) == [str(n) for n in range(20)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_writes_too(tmp_path):
    log = EventLog(tmp_path / "log", "test")
    log.append(["parent"])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            log.append(["child"])
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    log.append(["parent again"])
    assert bodies(log) == ["parent", "child", "parent again"]


def test_a_log_about_something_else_is_refused(tmp_path):
    EventLog(tmp_path / "log", "one").append(["x"])
    with pytest.raises(UsageError, match=r"is about something else .* remove it to begin anew"):
        EventLog(tmp_path / "log", "two").append(["y"])
    with pytest.raises(UsageError, match="is about something else"):
        bodies(EventLog(tmp_path / "log", "two"))


def test_what_is_no_log_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "log").write_text("a note, and no database at all" * 40)
    with pytest.raises(DataError, match="no log of events"):
        EventLog(tmp_path / "log", "test").append(["x"])
    assert (tmp_path / "log").read_text().startswith("a note")


def test_an_empty_file_is_a_log_that_was_only_begun(tmp_path):
    (tmp_path / "log").touch()
    log = EventLog(tmp_path / "log", "test")
    assert bodies(log) == []
    log.append(["x"])
    assert bodies(log) == ["x"]
    assert [path.name for path in tmp_path.iterdir()] == ["log"]  # nothing is left beside it


def test_where_nothing_can_be_written_it_says_so(tmp_path):
    (tmp_path / "log").mkdir()
    with pytest.raises(UnavailableError, match="cannot be used"):
        EventLog(tmp_path / "log", "test").append(["x"])
