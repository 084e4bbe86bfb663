"""``add_environment``: from a package on an index to an environment whose tests pass.

Outside a sandbox the package is data: its archive is read, never extracted; its metadata is text;
its dependencies are wheels that pip resolves and installs nothing of. Its code first runs when its
tests do, in a sandbox.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegym.authoring.packages.fetching import Fetcher
from codegym.authoring.packages.index import Requested, fetch_sdist, find_sdist
from codegym.authoring.packages.layout import find_layout, with_metadata
from codegym.authoring.packages.locking import lock_text, resolve
from codegym.authoring.packages.metadata import PackageInfo, read_info
from codegym.authoring.packages.recording import one_commit
from codegym.authoring.packages.sdist import unpack_sdist
from codegym.authoring.packages.settings import pip_settings
from codegym.authoring.packages.writing import Content, write_folder
from codegym.authoring.proving import REPEATS, UNKNOWN_TESTS
from codegym.errors import DataError, UsageError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Ready, Setting
from codegym.grading.trials import Observed, last_line, retried, run_on, summarise
from codegym.sandbox.images import Pin, refusal, shared_functions
from codegym.sandbox.images.lock import normalise
from codegym.store import LayerStore
from codegym.tasks import environments, load_environment
from codegym.types import Task

ROOT = Path(".codegym") / "environments"
#: A suite that takes longer than this gets more time than most.
_LONG_SEC = 12.0
_TIMEOUTS_SEC = (120.0, 900.0)


@dataclass(frozen=True, slots=True)
class Added:
    """An environment that was added.

    Attributes:
        name: Its name.
        folder: Where it is.
        tests: How many of its tests pass, every time.
        excluded: The other tests, to why they are left out.
        seconds: Wall time in all.
    """

    name: str
    folder: Path
    tests: int
    excluded: Mapping[str, str]
    seconds: float

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many tests are left out for each reason."""
        return dict(Counter(self.excluded.values()))


async def add_environment(
    spec: str,
    setting: Setting,
    *,
    root: Path = ROOT,
    progress: Progress = SILENT,
    store: LayerStore | None = None,
) -> Added:
    """Make an environment of a pure-Python package that has pytest tests.

    Args:
        spec: ``pypi:NAME==VERSION``.
        setting: Runs the tests.
        root: The folder that the environment's folder is made in.
        progress: Told what is being done.
        store: Where layers are; the setting's.

    Raises:
        UsageError: The package cannot be one, with the reason; or there is one of that name.
        NotFoundError: No index has it.
        DataError: What the index serves is broken, or not what it says.
        UnavailableError: No index, no network, or no room.
        SandboxError: The infrastructure broke, more than once.
    """
    began = time.perf_counter()
    requested = Requested.parse(spec)
    _require_free(requested.name, root)
    _refuse(requested.name, ())
    content = await asyncio.to_thread(_gathered, requested, progress)
    draft = root.parent / f".adding-{secrets.token_hex(6)}"
    try:
        write_folder(draft, content)
        seen, longest = await _tried(draft, setting, store or LayerStore(), progress)
        passing, excluded = _sorted(seen)
        if not passing:
            raise UsageError(f"{spec}: {_nothing_passes(seen)}")
        final = replace(
            content,
            excluded=excluded,
            deselect=_deselectable(excluded, passing),
            timeout_sec=_TIMEOUTS_SEC[longest > _LONG_SEC],
        )
        write_folder(draft, final)
        load_environment(draft)
        folder = root / requested.name
        root.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    seconds = time.perf_counter() - began
    return Added(requested.name, folder, len(passing), excluded, seconds)


def _require_free(name: str, root: Path) -> None:
    taken = root / name
    if taken.exists():
        raise UsageError(f"{taken} is there already; remove that folder to add it again")
    if name in environments():
        raise UsageError(f"there is an environment named {name!r} already")


def _refuse(name: str, pins: Sequence[Pin], ready: Ready | None = None) -> None:
    reason = refusal(name, pins, ready.image if ready else None)
    if reason:
        raise UsageError(f"{name} cannot be an environment: {reason}")


def _gathered(requested: Requested, progress: Progress) -> Content:
    """All that can be known of a package without running it."""
    progress.note(f"looking for {requested.name} {requested.version}")
    settings = pip_settings()
    fetcher = Fetcher(settings)
    sdist = find_sdist(requested, settings, fetcher)
    progress.note(f"fetching {sdist.filename}")
    unpacked = unpack_sdist(fetch_sdist(sdist, fetcher), sdist.filename)
    info = read_info(unpacked.tree, sdist.filename)
    if normalise(info.name) != requested.name:
        raise DataError(sdist.filename, f"is of {info.name!r}, by its own PKG-INFO")
    layout = find_layout(unpacked.tree, sdist.filename)
    progress.note(f"resolving what the tests of {requested.name} need")
    pins = _pins(info)
    _refuse(requested.name, pins)
    tree = with_metadata(unpacked.tree, layout, info)
    title = f"{info.name} {info.version}"
    return Content(
        name=requested.name,
        info=info,
        layout=layout,
        history=one_commit(tree, f"{title}\n", unpacked.newest),
        lock=lock_text(pins),
        origin=f"From `{sdist.filename}`, sha256 `{sdist.sha256}`.",
        excluded={},
        deselect=(),
        timeout_sec=_TIMEOUTS_SEC[1],
    )


def _pins(info: PackageInfo) -> tuple[Pin, ...]:
    """With what the tests are said to need; without it, where that cannot be had from wheels."""
    needed = ["pytest", *info.requires]
    if info.test_requires:
        try:
            return resolve([*needed, *info.test_requires])
        except UsageError:
            pass
    return resolve(needed)


async def _tried(
    draft: Path, setting: Setting, store: LayerStore, progress: Progress
) -> tuple[Observed, float]:
    """Run the suite so often; returns what it did and how long the longest run took."""
    environment = load_environment(draft)
    task = Task(
        instance_id=f"{environment.name}-as-published",
        environment=environment.name,
        base_commit=environment.head,
        patch="",
        fail_to_pass=UNKNOWN_TESTS,
        pass_to_pass=(),
    )
    ready = await retried(lambda: setting.ready(task, environment))
    await asyncio.to_thread(_refuse, environment.name, (), ready)
    await asyncio.to_thread(_refuse_similar, ready, store)
    progress.note(f"running the tests of {environment.name}, {REPEATS} times")
    runs = [await run_on(setting, ready) for _ in range(REPEATS)]
    return summarise(runs), max(run.result.seconds for run in runs)


def _refuse_similar(ready: Ready, store: LayerStore) -> None:
    matches = shared_functions(ready.image, ready.prepared.grading_tree, store)
    if matches:
        first = matches[0]
        raise UsageError(
            f"{ready.environment.name} cannot be an environment: its sandboxes would hold "
            f"{len(matches)} of its functions from elsewhere, {first.function} of {first.path} as "
            f"{first.image_function} in {first.image_path} among them"
        )


def _sorted(seen: Observed) -> tuple[frozenset[str], dict[str, str]]:
    """Tests that pass every time, and the others with the reason."""
    passing = frozenset(name for name, outcome in seen.outcomes.items() if outcome == "passed")
    said = {"failed": "fails", "error": "fails before it starts", "skipped": "skipped"}
    excluded = {
        name: said.get(outcome, outcome)
        for name, outcome in seen.outcomes.items()
        if outcome != "passed"
    }
    excluded |= dict.fromkeys(seen.unstable, "not the same every time")
    excluded |= dict.fromkeys(seen.uncollected, "cannot be collected")
    return passing, dict(sorted(excluded.items()))


def _deselectable(excluded: Mapping[str, str], passing: frozenset[str]) -> tuple[str, ...]:
    """Of the excluded tests, those whose id begins no other's: pytest compares beginnings."""
    return tuple(name for name in excluded if not any(other.startswith(name) for other in passing))


def _nothing_passes(seen: Observed) -> str:
    if seen.problem:
        return f"its tests do not run. {seen.problem}"
    if seen.uncollected and not seen.outcomes:
        path, said = next(iter(seen.uncollected.items()))
        return f"its tests cannot be collected. {path}: {last_line(said)}"
    return f"of its {len(seen.outcomes)} tests, none passes every time"
