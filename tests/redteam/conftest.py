"""The tiny environment's task as a victim, and real sandboxes to attack it in."""

import pytest
import pytest_asyncio
from support import make_tiny_environment, make_tiny_home, tiny_task

from codegym.errors import UnavailableError
from codegym.grading.setting import Setting
from codegym.redteam import Play, make_victim
from codegym.sandbox.backends import pick


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder in which the name ``tiny`` stands for an environment with a task."""
    return make_tiny_home(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.fixture(scope="session")
def victim(tmp_path_factory):
    tiny = make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")
    return make_victim(tiny_task(tiny), tiny)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def setting():
    try:
        made = Setting(pick("bubblewrap"))
    except UnavailableError as error:
        pytest.skip(str(error))
    yield made
    await made.close()


@pytest.fixture
def canary(tmp_path):
    folder = tmp_path / "canary"
    folder.mkdir()
    return folder


@pytest_asyncio.fixture(loop_scope="module")
async def play(setting, victim, canary):
    """A running episode in an attack's hands."""
    made = Play(setting, victim, canary)
    await made.reset()
    yield made
    await made.close()
