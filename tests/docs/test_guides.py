"""The guides that promise to be run are run: their shell blocks, in order, as a user would."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from chat_server import native, serving

GUIDES = Path(__file__).parents[2] / "docs/pages/guides"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PRICES = '''\
"""Prices."""


def total(prices, discount=0):
    """Sum of prices less a discount in percent."""
    return sum(prices) * (100 - discount) / 100


def cheapest(prices):
    """The lowest price; 0 for none."""
    if not prices:
        return 0
    return max(prices)


def average(prices):
    """The mean price."""
    return sum(prices) / len(prices)
'''
TESTS = """\
from shop.prices import average, cheapest, total


def test_total():
    assert total([1, 2]) == 3


def test_discount():
    assert total([100], 10) == 90


def test_cheapest_of_none():
    assert cheapest([]) == 0


def test_average():
    assert average([2, 4]) == 3


def test_average_of_none():
    assert average([]) == 0
"""
MORE = """\


def test_cheapest():
    assert cheapest([3, 1, 2]) == 1
"""


def _blocks(guide: str) -> list[tuple[str, str]]:
    return FENCE.findall((GUIDES / guide).read_text())


def _pattern(shown: str) -> re.Pattern[str]:
    """What a guide shows of output: ``…`` is anything, on a line of its own any lines."""
    lines = [
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n"
        for line in shown.splitlines()
    ]
    return re.compile("".join(lines))


def _run(command: list[str], cwd: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run it in a group of its own, of which nothing is left."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=300)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _follow(guide: str, folder: Path, **env: str) -> list[str]:
    """Run each shell block where the one before ended; returns what each printed."""
    command = folder / "bin/codegym"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codegym "$@"\n')
    command.chmod(0o755)
    env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "COLUMNS": "120", **env}
    cwd, printed = str(folder), []
    for language, block in _blocks(guide):
        if language == "text":
            assert _pattern(block).fullmatch(printed[-1]), f"shown:\n{block}\nis:\n{printed[-1]}"
        elif language == "console":
            script = f"set -euo pipefail; trap 'pwd >{folder}/cwd' EXIT\n{block}"
            done = _run(["bash", "-c", script], cwd, env)
            assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
            cwd = (folder / "cwd").read_text().rstrip("\n")
            printed.append(done.stdout)
    return printed


@pytest.fixture
def shop(tmp_path):
    """A user's repository: a bug, and the commit that repaired it."""
    folder = tmp_path / "shop"
    for path, text in {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\n',
        "src/shop/__init__.py": "",
        "src/shop/prices.py": PRICES,
        "tests/test_prices.py": TESTS,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    _commit(folder, "Prices")
    (folder / "src/shop/prices.py").write_text(PRICES.replace("max(", "min("))
    (folder / "tests/test_prices.py").write_text(TESTS + MORE)
    _commit(folder, "cheapest gave the dearest price")
    return folder


def _git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A User", "-c", "user.email=user@example.org")
    command = ["git", *who, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def _commit(folder: Path, message: str) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", message)


def _model(request):
    """Looks around, then submits."""
    seen = [message for message in request["messages"] if message["role"] == "tool"]
    return native("submit") if seen else native("bash", {"command": "ls src/shop"})


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(900)
def test_your_own_repository(shop, tmp_path, monkeypatch):
    before = _git(shop, "rev-parse", "HEAD")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        server.script = _model
        printed = _follow("own-repository.md", tmp_path, MODEL="some/model", URL=server.url)
        assert {request["model"] for request in server.requests} == {"some/model"}
    assert "test_average_of_none" in printed[2]  # named in the environment's README
    (played,) = [each for each in printed if "policy chat:some/model" in each]
    assert "prices.py" in played
    assert "cheapest gave the dearest price" in printed[-1]
    assert (_git(shop, "rev-parse", "HEAD"), _git(shop, "status", "--porcelain")) == (before, "")


def test_what_a_guide_shows_is_compared():
    shown = textwrap.dedent("""\
        3 tasks, in … s
        …
        done
    """)
    assert _pattern(shown).fullmatch("3 tasks, in 0.2 s\na\nb\ndone\n")
    assert _pattern(shown).fullmatch("3 tasks, in 0.2 s\ndone\n")
    assert not _pattern(shown).fullmatch("4 tasks, in 0.2 s\ndone\n")
    assert not _pattern(shown).fullmatch("3 tasks, in 0.2 s\na\n")


@pytest.mark.parametrize("guide", ["own-repository.md"])
def test_nothing_that_looks_like_a_command_is_left_out(guide):
    languages = [language for language, _ in _blocks(guide)]
    assert set(languages) <= {"console", "text"}
    assert languages.count("console") >= 8
    assert languages[0] == "console"
