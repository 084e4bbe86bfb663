"""Runs a suite of a small project, written in the test, in a real sandbox with its toolchain."""

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support import make_tiny_environment

from codegym.errors import UnavailableError
from codegym.grading.runners import suite_runner
from codegym.grading.suites import SuiteRun, run_suite
from codegym.sandbox.backends import pick
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.tasks import Suite
from codegym.types import File, Limits, SandboxSpec


@dataclass(frozen=True)
class Ran:
    """A run, by test."""

    run: SuiteRun

    @property
    def outcomes(self) -> Mapping[str, str]:
        found = {record.id: record.outcome for record in self.run.records}
        assert len(found) == len(self.run.records), "doubled"
        return found

    def message(self, test_id: str) -> str:
        return next(record.message for record in self.run.records if record.id == test_id)


class Project:
    """Runs suites over trees."""

    def __init__(self, environment) -> None:
        self._environment = environment

    def run(
        self,
        toolchain: str,
        files: Mapping[str, str],
        *,
        ids: Sequence[str] = (),
        **options,
    ) -> Ran:
        """Run a suite of a project; options are the suite's."""
        tools = (toolchain,) if toolchain else ()
        image = replace(self._environment.image, requirements=None, toolchains=tools)
        environment = replace(self._environment, image=image)
        options = {"import_paths": (), "config": (), **options}
        suite = replace(self._environment.suites[0], **options)
        try:
            return asyncio.run(_run(environment, suite, files, ids))
        except UnavailableError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(str(error))


async def _run(environment, suite: Suite, files: Mapping[str, str], ids: Sequence[str]) -> Ran:
    store, backend = LayerStore(), pick("bubblewrap")
    try:
        image = await build_image(environment, backend, store=store)
        tool = suite_runner(suite)
        tree = {path: File(text.encode(), "100644") for path, text in files.items()}
        spec = SandboxSpec(
            image, _workspace(tree, store, backend.owner), Limits(), files=tool.payload()
        )
        async with await backend.start(spec) as box:
            return Ran(await run_suite(box, environment, suite, tool, ids))
    finally:
        await backend.close()


def _workspace(tree: Mapping[str, File], store: LayerStore, owner) -> Path:
    total = hashlib.sha256(repr((owner, sorted(tree.items()))).encode()).hexdigest()

    def write(folder: Path) -> None:
        for name, file in tree.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        for path in (folder, *folder.rglob("*")) if owner else ():
            os.chown(path, *owner)

    return store.publish(f"project-{total}", write)


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    return Project(make_tiny_environment(tmp_path_factory.mktemp("runners") / "tiny"))
