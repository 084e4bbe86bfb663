"""``add_environment``: from what a user has to an environment whose tests pass.

Outside a sandbox it is data: an archive is read, never extracted; a repository is cloned without
what it would run; metadata is text; dependencies are wheels that pip resolves and installs nothing
of. Its code first runs when its tests do, in a sandbox.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegym.authoring.packages.gathering import Gathered, gather, pins_of
from codegym.authoring.packages.index import Requested
from codegym.authoring.packages.judging import Verdict, deselectable
from codegym.authoring.packages.layout import several_projects
from codegym.authoring.packages.locking import lock_text
from codegym.authoring.packages.references import Cloned, Plain, parse_reference
from codegym.authoring.packages.services import Declaration
from codegym.authoring.packages.trying import try_suite
from codegym.authoring.packages.writing import Content, write_folder
from codegym.authoring.proving import REPEATS, UNKNOWN_TESTS
from codegym.errors import UsageError
from codegym.grading.progress import SILENT, Progress
from codegym.grading.setting import Ready, Setting
from codegym.grading.trials import retried
from codegym.sandbox.images import Pin, refusal, shared_functions
from codegym.sandbox.images.fingerprint import fingerprints
from codegym.store import LayerStore
from codegym.tasks import environments, load_environment
from codegym.tasks.rewriting import require_writable
from codegym.types import Task

ROOT = Path(".codegym") / "environments"
#: Wall time of a suite that is not known yet.
TIMEOUT_SEC = 900.0
#: A suite that takes longer than this gets more time than most.
_LONG_SEC, _SHORT_TIMEOUT_SEC = 12.0, 120.0
#: Above this share of its functions, too much of a project lies open in every sandbox.
_SHARED = 0.02
_ONLY = Declaration()
_DRAFT, _STALE_SEC = ".adding-", 86_400.0


@dataclass(frozen=True, slots=True)
class Added:
    """An environment that was added.

    Attributes:
        name: Its name.
        folder: Where it is.
        tests: How many of its tests pass, every time.
        excluded: The other tests, to why they are left out.
        notes: What a user should know of it, as sentences.
        seconds: Wall time in all.
    """

    name: str
    folder: Path
    tests: int
    excluded: Mapping[str, str]
    notes: tuple[str, ...]
    seconds: float

    @property
    def reasons(self) -> Mapping[str, int]:
        """How many tests are left out for each reason."""
        return dict(Counter(self.excluded.values()))


async def add_environment(
    reference: str,
    setting: Setting,
    *,
    subdir: str = ".",
    name: str = "",
    declaration: Declaration = _ONLY,
    timeout_sec: float = TIMEOUT_SEC,
    root: Path = ROOT,
    progress: Progress = SILENT,
    store: LayerStore | None = None,
) -> Added:
    """Make an environment of a Python project that has tests pytest can run.

    Args:
        reference: ``pypi:NAME==VERSION``, a folder, or a git repository (path or address).
        setting: Runs the tests.
        subdir: The project's folder in the repository.
        name: The environment's name; by default the project's.
        declaration: What its files do not say.
        timeout_sec: Wall time of one run of the suite.
        root: The folder that the environment's folder is made in.
        progress: Told what is being done.
        store: Where layers are; the setting's.

    Raises:
        UsageError: It cannot be one, with the reason; or there is one of that name.
        NotFoundError: No index has it.
        DataError: It is broken, or not what an index says.
        UnavailableError: It cannot be reached, or there is no room.
        SandboxError: The infrastructure broke, more than once.
    """
    began = time.perf_counter()
    await asyncio.to_thread(require_writable, root)
    source = parse_reference(reference)
    found, pins = await asyncio.to_thread(
        _gathered, source, subdir, name, root, progress, declaration.wheel
    )
    content = Content(found, lock_text(pins), declaration, {}, (), timeout_sec)
    await asyncio.to_thread(_sweep, root.parent)
    draft = root.parent / f"{_DRAFT}{secrets.token_hex(6)}"
    try:
        write_folder(draft, content)
        tried = await _tried(draft, found, setting, store or LayerStore(), progress)
        final = _with_verdict(content, tried)
        write_folder(draft, final)
        load_environment(draft)
        folder = _place(draft, root / found.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Added(
        name=found.name,
        folder=folder,
        tests=len(tried.verdict.passing),
        excluded=tried.verdict.excluded,
        notes=final.found.notes,
        seconds=time.perf_counter() - began,
    )


def _sweep(folder: Path) -> None:
    """Remove what runs that were killed left behind; one under way is younger."""
    for left in folder.glob(f"{_DRAFT}*"):
        if time.time() - left.stat().st_mtime > _STALE_SEC:
            shutil.rmtree(left, ignore_errors=True)


def _gathered(
    source: Requested | Cloned | Plain,
    subdir: str,
    name: str,
    root: Path,
    progress: Progress,
    wheel: Path | None,
) -> tuple[Gathered, tuple[Pin, ...]]:
    if isinstance(source, Requested):  # before anything is fetched
        _require_free(name or source.name, root)
        _refuse(source.name, ())
    found = gather(source, subdir, name, progress, wheel)
    _require_free(found.name, root)
    progress.note(f"resolving what the tests of {found.name} need")
    pins, notes = pins_of(found)
    _refuse(found.info.name, pins)
    return replace(found, notes=(*found.notes, *notes)), pins


def _require_free(name: str, root: Path) -> None:
    taken = root / name
    if taken.exists():
        raise UsageError(
            f"{taken} is there already; remove that folder to add it again, or give another --name"
        )
    if name in environments():
        raise UsageError(f"there is an environment named {name!r} already; give another --name")


def _refuse(name: str, pins: Sequence[Pin], ready: Ready | None = None) -> None:
    reason = refusal(name, pins, ready.image if ready else None)
    if reason:
        raise UsageError(f"{name} cannot be an environment: {reason}")


@dataclass(frozen=True, slots=True)
class _Tried:
    verdict: Verdict
    notes: tuple[str, ...]
    seconds: float


def _with_verdict(content: Content, tried: _Tried) -> Content:
    """What an environment holds, now that its tests were run."""
    return replace(
        content,
        found=replace(content.found, notes=(*content.found.notes, *tried.notes)),
        excluded=tried.verdict.excluded,
        deselect=deselectable(tried.verdict),
        timeout_sec=content.timeout_sec if tried.seconds > _LONG_SEC else _SHORT_TIMEOUT_SEC,
    )


def _place(draft: Path, folder: Path) -> Path:
    """Put a finished draft at its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        return draft.rename(folder)
    except OSError as error:
        if not folder.is_dir():
            raise
        raise UsageError(
            f"{folder} was made meanwhile by another `environment add`; it is left as it is"
        ) from error


async def _tried(
    draft: Path, found: Gathered, setting: Setting, store: LayerStore, progress: Progress
) -> _Tried:
    """Make its tests ready, and run them."""
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
    await asyncio.to_thread(_refuse, found.info.name, (), ready)
    progress.note(f"running the tests of {environment.name}, {REPEATS} times")
    comparing = asyncio.create_task(asyncio.to_thread(_similar, ready, store))  # takes as long
    try:
        verdict, seconds = await try_suite(setting, ready)
    except UsageError as error:  # what is known besides is often the reason
        await comparing
        notes = [*found.notes, *several_projects(ready.prepared.grading_tree)]
        known = "".join(f"\n  {note}" for note in notes)
        raise UsageError(f"{found.name} cannot be an environment: {error}{known}") from error
    except BaseException:
        comparing.cancel()
        raise
    return _Tried(verdict, (*verdict.notes, *await comparing), seconds)


def _similar(ready: Ready, store: LayerStore) -> tuple[str, ...]:
    """Refuse a project that sandboxes hold much of from elsewhere; note where it is little."""
    tree = ready.prepared.grading_tree
    matches = shared_functions(ready.image, tree, store)
    if not matches:
        return ()
    first = matches[0]
    where = re.sub(r"^.*/lib/python[\d.]+/", "", first.image_path)
    said = f"{first.function} of {first.path} as {first.image_function} in {where}"
    total = sum(len(fingerprints(file.data)) for path, file in tree.items() if path.endswith(".py"))
    if len(matches) > total * _SHARED:
        raise UsageError(
            f"{ready.environment.name} cannot be an environment: its sandboxes would hold "
            f"{len(matches)} of its functions from elsewhere, {said} among them"
        )
    note = f"Sandboxes hold {len(matches)} of its functions from elsewhere, {said} among them."
    return (f"{note} `codegym check` refuses tasks that are about these.",)
