"""Leaks: whatever of an answer is put into a text is found, and public words are no leak."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.mutation.statements import Secrets, phrases
from codegym.mutation.statements.leaks import RUN, runs
from codegym.types import File, Task
from codegym.workspace.diff import diff_trees

OLD = b"""\
def settle(ledger, tolerance):
    remaining = sum(entry.amount for entry in ledger)
    if abs(remaining) > tolerance:
        raise ValueError("the ledger does not settle")
    return [entry for entry in ledger if entry.amount]
"""
NEW = OLD.replace(b"> tolerance", b">= threshold").replace(b"if entry.amount]", b"]")
TESTS = b"from bank.core import close\n\ndef test_close():\n    assert close(ledger) == [entry]\n"
TREE = {"src/bank/ledgers.py": File(OLD), "tests/test_core.py": File(TESTS)}
TASK = Task(
    instance_id="t",
    environment="tiny",
    base_commit="0" * 40,
    patch=diff_trees({"src/bank/ledgers.py": File(NEW)}, {"src/bank/ledgers.py": File(OLD)}),
    fail_to_pass=("tests/test_core.py::test_close",),
    pass_to_pass=(),
    provenance={"spans": [{"path": "src/bank/ledgers.py", "function": "Book.settle"}]},
)
SECRETS = Secrets.of(TASK, TREE)

LINES = [line[1:] for line in TASK.patch.splitlines() if re.match(r"[-+](?![-+])", line)]
WORDS = st.text("abc .,é\n'`(", max_size=20)
SPACES = st.sampled_from([" ", "  ", "\n", " \t"])


def test_what_is_secret():
    assert SECRETS.names == {"Book", "settle", "tolerance", "threshold", "amount"}
    assert SECRETS.paths == {"src/bank/ledgers.py", "ledgers"}


@given(WORDS, st.sampled_from(sorted(SECRETS.names)), WORDS)
def test_a_name_is_found_wherever_it_stands(before, name, after):
    text = f"{before} {name} {after}"
    assert f"the name {name}" in SECRETS.leaks(text)
    assert not any(name in leak for leak in SECRETS.leaks(SECRETS.without(text)))


@given(WORDS, st.sampled_from(LINES), st.integers(0, 30), st.data(), WORDS)
def test_a_run_of_the_patch_is_found_however_it_is_spaced(before, line, start, data, after):
    tokens = re.findall(r"[^\W\d]\w*|\d+|[^\w\s]", line)
    chosen = tokens[start : start + RUN]
    joined = data.draw(SPACES).join(chosen)
    if next(runs(joined), None) is None or tuple(chosen) in set(runs(SECRETS.public)):
        return
    assert any(
        leak.startswith("part of the patch") for leak in SECRETS.leaks(f"{before} {joined} {after}")
    )


@given(WORDS, st.sampled_from(["a/b.py:3", "x.go:12: in f", "see line 7", "Line 12"]), WORDS)
def test_a_place_is_found_and_crossed_out(before, place, after):
    text = f"{before} {place} {after}"
    assert any("place" in leak for leak in SECRETS.leaks(text))
    assert not any("place" in leak for leak in SECRETS.leaks(SECRETS.without(text)))


@pytest.mark.parametrize("path", ["src/bank/ledgers.py", "`src/bank/ledgers.py`", "bank.ledgers"])
def test_a_file_is_found(path):
    assert any("the file" in leak for leak in SECRETS.leaks(f"It is in {path}!"))
    assert SECRETS.leaks(SECRETS.without(f"It is in {path}!")) == ()


@given(st.permutations(phrases.TEXT.splitlines()))
def test_what_statements_always_say_tells_nothing(lines):
    assert SECRETS.leaks("\n".join(lines)) == ()


def test_words_of_the_tests_are_public():
    assert SECRETS.leaks(TESTS.decode()) == ()
    assert SECRETS.leaks("`close(ledger)` gives `[entry]`, not `[]`") == ()
    named = TREE | {"tests/test_core.py": File(TESTS + b"    settle(1, tolerance=2)\n")}
    assert Secrets.of(TASK, named).names == {"Book", "threshold", "amount"}


def test_a_test_that_is_not_there_makes_nothing_public():
    lost = Secrets.of(TASK, {"src/bank/ledgers.py": File(OLD)})
    assert lost.public == ""
    assert SECRETS.names <= lost.names


@given(WORDS)
def test_crossing_out_is_final(text):
    once = SECRETS.without(text)
    assert SECRETS.without(once) == once
