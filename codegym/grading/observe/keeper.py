"""Keeps recordings: made once for each solved tree, shared by graders and by processes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from codegym.errors import TaskError
from codegym.grading.fresh import run_fresh, work_between, workers
from codegym.grading.observe.completing import completed
from codegym.grading.observe.laying import laid, modules_of
from codegym.grading.observe.pooling import Variants, groups, pooled
from codegym.grading.observe.record import CutOffError, Run, Subject, record
from codegym.grading.observe.recording import Observation, Recording, file_of
from codegym.grading.observe.staleness import still_true
from codegym.grading.observe.stored import dump, dump_pool, load, load_pool
from codegym.grading.observe.variants import Variant
from codegym.grading.ready import Ready
from codegym.grading.suites import SuiteRun, Watch
from codegym.sandbox.base import Backend
from codegym.store import LayerStore
from codegym.types import Change, File, ObservingRunner, Tree
from codegym.workspace.layer import write_layer
from codegym.workspace.trees import gold_tree

_T = TypeVar("_T")
_FILE = "recording.json"
_REMEMBERED = 64
_MOMENT_SEC = 1.0


class Recordings:
    """Finds and makes recordings. One for each event loop.

    Making one takes some runs of the suite, in sandboxes without a network. A process that is
    killed meanwhile leaves nothing behind; another one waits for it rather than do the same.

    Args:
        backend: Starts the sandboxes.
        store: Where recordings are kept.
    """

    def __init__(self, backend: Backend, store: LayerStore) -> None:
        self._backend, self._store = backend, store
        self._closed = False
        self._by_task: OrderedDict[object, asyncio.Future[Recording]] = OrderedDict()
        self._by_key: OrderedDict[str, asyncio.Future[Any]] = OrderedDict()
        self._free = asyncio.Semaphore(workers())

    async def of(self, ready: Ready) -> Recording | None:
        """The recording that a task's work is judged against, with siblings of its failing tests.

        Returns:
            It, or None where the suite's runner cannot observe. Where the suite was cut off while
            it was recorded, one of nothing, which is made again the next time.

        Raises:
            SandboxError: The infrastructure broke, more than once.
            UnavailableError: The disk is full.
        """
        if not isinstance(ready.runner, ObservingRunner):
            return None
        try:
            return await asyncio.shield(self._future(ready))
        except CutOffError as error:
            return Recording(notes=(f"{error} Nothing of it is observed, this time.",))

    async def observation(self, ready: Ready) -> Observation | None:
        """What a grade of the task needs; None where its tests cannot all be graded like that."""
        recording = await self.of(ready)
        if recording is None or not recording.covers(ready.task.test_ids):
            return None
        grading = ready.prepared.grading_tree
        changed = {
            change.path: File(change.data or b"", grading[change.path].mode)
            for change in laid(recording.sources, ready)
            if change.path in grading
        }

        def build(folder: Path) -> None:
            write_layer(folder, {**grading, **changed}, owner=self._backend.owner, git=False)

        names = f"{ready.prepared.grading.name} {ready.environment.subdir} {recording.digest}"
        key = f"observed-{hashlib.sha256(names.encode()).hexdigest()}"
        workspace = await asyncio.to_thread(self._store.publish, key, build)
        return Observation(recording, workspace, frozenset(changed))

    async def still_true(self, ready: Ready, recording: Recording) -> Recording:
        """A task's recording without siblings that the solved tree answers otherwise by now.

        Raises:
            SandboxError: The infrastructure broke, more than once.
        """
        gold, _ = await asyncio.to_thread(_gold, ready)
        trees = _Trees(self._backend, self._free, ready, gold)
        return await trees.still_true(recording)

    def ahead(self, ready: Ready) -> None:
        """Begin, without waiting; a failure is raised by ``of``."""
        if isinstance(ready.runner, ObservingRunner):
            self._future(ready)

    def soon(self, ready: Ready, wanted: object) -> None:
        """Begin in a moment, where what it is wanted for is still there then.

        A reset, and a first command, do not have to share the machine with it.
        """
        reference = weakref.ref(wanted)

        def begin() -> None:
            if reference() is not None and not self._closed:
                self.ahead(ready)

        asyncio.get_running_loop().call_later(_MOMENT_SEC, begin)

    async def close(self) -> None:
        """Stop what is being made. Idempotent."""
        self._closed = True
        futures = [*self._by_task.values(), *self._by_key.values()]
        unfinished = [future for future in futures if not future.done()]
        for future in unfinished:
            future.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        self._by_task.clear()
        self._by_key.clear()

    def _future(self, ready: Ready) -> asyncio.Future[Recording]:
        return _remembered(self._by_task, _identity(ready), lambda: self._found(ready))

    async def _found(self, ready: Ready) -> Recording:
        gold, key = await asyncio.to_thread(_gold, ready)
        trees = _Trees(self._backend, self._free, ready, gold)
        base = await self._shared(key, _RECORDING, trees.recorded)
        if not base.covers(ready.task.test_ids):
            return base
        functions = sorted(base.functions_of(ready.task.fail_to_pass))
        names = _hash(key, ready.prepared.grading.name, *functions)

        async def completed() -> Recording:
            pool: dict[str, Sequence[Variant]] = {}
            for group in groups(base):
                if not set(functions).isdisjoint(group):
                    pool |= await self._pool(key, trees, base, group)
            return await trees.completed(base, pool, functions)

        return await self._shared(f"siblings-{names}", _RECORDING, completed)

    async def _pool(
        self, key: str, trees: _Trees, base: Recording, group: Sequence[str]
    ) -> Variants:
        name = f"pool-{_hash(key, *group)}"
        return await self._shared(name, _POOL, lambda: trees.pooled(base, group))

    async def _shared(
        self, key: str, kind: _Kind[_T], make: Callable[[], Coroutine[Any, Any, _T]]
    ) -> _T:
        kept = _remembered(self._by_key, key, lambda: self._kept(key, kind, make))
        found: _T = await asyncio.shield(kept)
        return found

    async def _kept(
        self, key: str, kind: _Kind[_T], make: Callable[[], Coroutine[Any, Any, _T]]
    ) -> _T:
        folder = self._store.find(key)
        if folder is None:
            try:
                folder = await self._published(key, kind, make)
            except TaskError as error:
                return kind.failed(f"Nothing is observed: {error.problem}")
        return await asyncio.to_thread(lambda: kind.load((folder / _FILE).read_bytes()))

    async def _published(
        self, key: str, kind: _Kind[_T], make: Callable[[], Coroutine[Any, Any, _T]]
    ) -> Path:
        """Make something while its place in the store is held."""
        loop, making = asyncio.get_running_loop(), set()

        def build(folder: Path) -> None:
            made = asyncio.run_coroutine_threadsafe(make(), loop)
            making.add(made)
            path = folder / _FILE
            path.touch(0o600)
            path.write_bytes(kind.dump(made.result()))

        try:
            return await _threaded(lambda: self._store.publish(key, build))
        finally:
            for made in making:
                made.cancel()


@dataclass(frozen=True)
class _Kind(Generic[_T]):
    """How one kind of thing is kept, and what there is where it cannot be made."""

    dump: Callable[[_T], bytes]
    load: Callable[[bytes], _T]
    failed: Callable[[str], _T]


_RECORDING = _Kind(dump, load, lambda problem: Recording(notes=(problem,)))
_POOL: _Kind[Variants] = _Kind(dump_pool, load_pool, lambda _: {})


@dataclass(frozen=True)
class _Trees:
    """Runs on a task's trees."""

    backend: Backend
    free: asyncio.Semaphore
    ready: Ready
    gold: Tree

    async def recorded(self) -> Recording:
        """What all tests see on the solved tree."""
        return await record(await self._subject(None, self._run_solved))

    async def pooled(self, base: Recording, group: Sequence[str]) -> Variants:
        """Siblings of some functions, fit on the solved tree."""
        homes = [base.home_of(name) for name in group]
        return await pooled(await self._subject(homes, self._run_solved), base, group)

    async def completed(
        self, base: Recording, pool: Variants, functions: Sequence[str]
    ) -> Recording:
        """The recording with siblings that the unsolved tree fails."""
        homes = [base.home_of(name) for name in functions]
        solved = await self._subject(homes, self._run_solved)
        return await completed(solved, replace(solved, run=self._run), base, pool, functions)

    async def still_true(self, recording: Recording) -> Recording:
        """Without siblings that are answered otherwise by now."""
        subject = await self._subject((), self._run_solved)
        siblings = recording.siblings_of(self.ready.task.fail_to_pass)
        keys = tuple(test.key for test in siblings)
        sources = {path: data.decode() for path, data in recording.sources.items()}
        (run,) = await subject.look(sources, [Watch(keys, limited=keys)])
        return still_true(recording, run)

    async def _subject(self, functions: Sequence[str] | None, run: Run) -> Subject:
        files = None if functions is None else frozenset(map(file_of, functions))
        modules = await asyncio.to_thread(modules_of, self.ready, self.gold, files)
        if not isinstance(self.ready.runner, ObservingRunner):
            raise TypeError("the runner does not observe")
        return Subject(modules, self.ready.runner, run)

    async def _run_solved(self, sources: Mapping[str, str], watch: Watch) -> SuiteRun:
        return await self._run(
            sources, watch, work_between(self.ready.prepared.grading_tree, self.gold).changes
        )

    async def _run(
        self, sources: Mapping[str, str], watch: Watch, solution: Sequence[Change] = ()
    ) -> SuiteRun:
        tests = laid({path: text.encode() for path, text in sources.items()}, self.ready)
        async with self.free:
            return await run_fresh(self.backend, self.ready, [*solution, *tests], watch=watch)


def _identity(ready: Ready) -> object:
    """What two tasks have in common that have the same solved tree and failing tests."""
    task = ready.task
    patches = task.start_patch, task.test_patch, task.patch
    home = ready.environment.digest, ready.image.digest
    return *home, task.suite, task.base_commit, *patches, task.test_ids, task.fail_to_pass


def _gold(ready: Ready) -> tuple[Tree, str]:
    """The solved tree, and the key of what is recorded on it."""
    gold = gold_tree(ready.task, ready.environment)
    total = hashlib.sha256(_maker())
    if isinstance(ready.runner, ObservingRunner):
        payload = {**ready.runner.payload(), **ready.runner.observer()}
        total.update(b"".join(payload[name] for name in sorted(payload)))
    home = ready.environment
    total.update(json.dumps([home.digest, ready.image.digest, ready.suite.name]).encode())
    for path in sorted(gold):
        file = gold[path]
        total.update(
            b"%s\0%s %d\0"
            % (path.encode(errors="surrogateescape"), file.mode.encode(), len(file.data))
        )
        total.update(file.data)
    return gold, f"recording-{total.hexdigest()}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _maker() -> bytes:
    """Changes whenever this package does: what another one recorded is not used."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()


def _remembered(
    futures: OrderedDict[Any, asyncio.Future[_T]],
    key: object,
    make: Callable[[], Coroutine[Any, Any, _T]],
) -> asyncio.Future[_T]:
    """What is made, or was; what failed is made again."""
    future = futures.get(key)
    if future is None or (future.done() and _failed(future)):
        future = futures[key] = asyncio.ensure_future(make())
        future.add_done_callback(_failed)  # one that nobody waits for is no stray
    futures.move_to_end(key)
    while len(futures) > _REMEMBERED and next(iter(futures.values())).done():
        futures.popitem(last=False)
    return future


def _failed(future: asyncio.Future[Any]) -> bool:
    """Whether it came to nothing; asking counts as having seen the exception."""
    return future.cancelled() or future.exception() is not None


def _threaded(work: Callable[[], _T]) -> asyncio.Future[_T]:
    """Do it in a thread of its own, which may wait long, and holds up nobody who wants to end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(result: Callable[[], None]) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else result())
        except RuntimeError:  # the loop is closed: nobody waits
            return

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failure = error
            tell(lambda: done.set_exception(failure))
        else:
            tell(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True, name="codegym-recording").start()
    return done
