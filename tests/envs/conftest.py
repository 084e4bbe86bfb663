"""The tiny environment as a task source, and real sandboxes to play it in."""

from dataclasses import replace

import pytest
from support import make_tiny_environment, tiny_task

from codegym.grading.setting import Setting
from codegym.sandbox.backends import pick
from codegym.tasks import write_pack
from codegym.types import call

FIX = call(
    "edit",
    path="src/tinycalc/order.py",
    old="    return ordered[len(ordered) // 2]\n",
    new=(
        "    middle = len(ordered) // 2\n"
        "    if len(ordered) % 2 == 0:\n"
        "        return (ordered[middle - 1] + ordered[middle]) / 2\n"
        "    return ordered[middle]\n"
    ),
)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder in which the name ``tiny`` stands for an environment with three tasks."""
    folder = tmp_path_factory.mktemp("home")
    tiny = make_tiny_environment(folder / ".codegym" / "environments" / "tiny")
    row = tiny_task(tiny)
    rows = [replace(row, instance_id=f"tiny-{n}") for n in range(2)]
    # The last one hides a test that the agent would have to keep working.
    rows.append(replace(row, instance_id="tiny-hidden", hidden=frozenset(row.pass_to_pass[-1:])))
    write_pack(tiny.folder, rows, name="tiny", environments=[tiny])
    return folder


@pytest.fixture(autouse=True)
def at_home(request, monkeypatch):
    """Run where ``tiny`` is known, in tests that need it."""
    if "setting" in request.fixturenames or "home" in request.fixturenames:
        monkeypatch.chdir(request.getfixturevalue("home"))


@pytest.fixture
async def setting(home):
    made = Setting(pick())
    yield made
    await made.close()


@pytest.fixture
def fix():
    """The action that repairs the tiny task."""
    return FIX


@pytest.fixture
def source(home, at_home):
    """The three tasks."""
    from codegym.tasks.sources import resolve

    return resolve("tiny")
