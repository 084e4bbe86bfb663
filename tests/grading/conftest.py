"""One backend, one image and one task, made ready once for all of these tests."""

from dataclasses import dataclass

import pytest
import pytest_asyncio
from support import make_tiny_environment, tiny_task

from codegym.errors import UnavailableError
from codegym.grading.setting import Ready, Setting
from codegym.sandbox.backends import pick
from codegym.tasks import Environment
from codegym.types import Change, Grade, Manifest, Task
from codegym.workspace.trees import gold_tree


@dataclass(frozen=True)
class Range:
    """Where solutions and cheats are tried: in real sandboxes, graded for real."""

    setting: Setting
    environment: Environment
    task: Task
    ready: Ready
    gold: Manifest

    async def work(self, script: str) -> Manifest:
        """What a policy leaves that runs a script in its sandbox."""
        box = await self.setting.start(self.ready)
        async with box:
            result = await box.shell(script)
            assert result.exit_code == 0, result.output.decode(errors="replace")
            return await box.collect()

    async def grade(self, script: str) -> Grade:
        """The grade of that."""
        return await self.setting.grade(self.ready, await self.work(script))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    return make_tiny_environment(tmp_path_factory.mktemp("environments") / "tiny")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def range_(tiny):
    try:
        setting = Setting(pick("bubblewrap"))
    except UnavailableError as error:
        pytest.skip(str(error))
    task = tiny_task(tiny)
    try:
        ready = await setting.ready(task, tiny)
        start, gold = ready.prepared.start_tree, gold_tree(task, tiny)
        changes = (Change(path, file.data) for path, file in gold.items() if start[path] != file)
        yield Range(setting, tiny, task, ready, Manifest(tuple(changes)))
    finally:
        await setting.close()
