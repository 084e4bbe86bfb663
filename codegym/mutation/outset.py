"""What generation starts from: an environment's edits, and what its suites do without any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from codegym.errors import UsageError
from codegym.grading.progress import Progress
from codegym.grading.setting import Setting
from codegym.mutation.baseline import Baseline, measure
from codegym.mutation.candidates import Candidate, find_candidates, parsed_sources
from codegym.mutation.operators import Operator
from codegym.mutation.screening import Screen
from codegym.mutation.warm.session import Warmth, feel
from codegym.sandbox.images import shared_functions
from codegym.store import LayerStore
from codegym.syntax import Parsed, grammar
from codegym.tasks import Environment
from codegym.types import Tree
from codegym.workspace.history import open_history

#: Languages of the tests that runners of ours run; ``tap`` and ``junit`` run any.
_RUNS = {
    "cargo": ("rust",),
    "go": ("go",),
    "node": ("javascript", "typescript"),
    "pytest": ("python",),
    "unittest": ("python",),
}


@dataclass(frozen=True)
class Outset:
    """An environment, looked at.

    Attributes:
        tree: Its newest commit.
        files: Those that may be mutated.
        unread: Others that could be, but for their syntax, which the grammar does not know.
        candidates: The edits of them that are to be looked at, files and places in order.
        baselines: What each suite does without one.
        screen: Says which are worth running.
        warmths: How each suite bears to be forked, by its name.
    """

    tree: Tree
    files: Mapping[str, Parsed]
    unread: Sequence[str]
    candidates: Sequence[Candidate]
    baselines: Sequence[Baseline]
    screen: Screen
    warmths: Mapping[str, Warmth]


async def outset(
    environment: Environment,
    setting: Setting,
    operators: Sequence[Operator],
    seed: int,
    only: Callable[[Candidate], bool] | None,
    progress: Progress,
    store: LayerStore,
) -> Outset:
    """Find an environment's edits, and run its suites as they are. Raises as ``generate`` does."""
    progress.note(f"looking for edits in {environment.name}")
    tree = (await asyncio.to_thread(open_history, environment)).tree_at(environment.head)
    files, unread, candidates = _look(environment, tree, operators, seed, only)
    baselines = await _baselines(setting, environment, frozenset(files), progress, store)
    screen = await asyncio.to_thread(_screen, baselines, tree, files, store)
    warmths = await _warmths(setting, baselines, progress, store)
    return Outset(tree, files, unread, candidates, baselines, screen, warmths)


def _look(
    environment: Environment,
    tree: Tree,
    operators: Sequence[Operator],
    seed: int,
    only: Callable[[Candidate], bool] | None,
) -> tuple[Mapping[str, Parsed], list[str], list[Candidate]]:
    """The files that may be mutated, those not understood, and the edits that are looked at."""
    _can_run(environment)
    parsed = parsed_sources(environment, tree)
    files = {path: one for path, one in parsed.items() if one.is_clean}
    unread = [path for path in parsed if path not in files]
    candidates = find_candidates(files, operators, seed)
    if not candidates:
        raise UsageError(_nothing(environment, files, unread))
    return files, unread, [one for one in candidates if only is None or only(one)]


def _can_run(environment: Environment) -> None:
    """Refuse an environment whose edits none of its suites could notice."""
    language = environment.language
    grammar(language)  # it is one that is known
    named = sorted({suite.runner for suite in environment.suites})
    if all(language not in _RUNS.get(one, (language,)) for one in named):
        raise UsageError(
            f"{environment.name} is written in {language}, and {', '.join(named)} runs the tests "
            f"of {_RUNS[named[0]][0]}: edits of {language} cannot be tried. Name another runner in "
            f"{environment.folder}/environment.toml"
        )


async def _baselines(
    setting: Setting,
    environment: Environment,
    files: frozenset[str],
    progress: Progress,
    store: LayerStore,
) -> list[Baseline]:
    """What every suite does without an edit."""
    return [
        await measure(setting, environment, suite, progress, files=files, store=store)
        for suite in environment.suites
    ]


async def _warmths(
    setting: Setting, baselines: Sequence[Baseline], progress: Progress, store: LayerStore
) -> dict[str, Warmth]:
    """How each suite bears to be run in forked processes."""
    progress.note("running the tests in forked processes, nothing edited")
    return {one.suite.name: await feel(setting, one, store) for one in baselines}


def _screen(
    baselines: Sequence[Baseline], tree: Tree, files: Iterable[str], store: LayerStore
) -> Screen:
    """What leaves out candidates unrun, those in functions that every sandbox holds among them."""
    image = baselines[0].ready.image
    shared = shared_functions(image, {path: tree[path] for path in files}, store)
    return Screen(baselines, tree, frozenset((match.path, match.function) for match in shared))


def _nothing(environment: Environment, files: Mapping[str, Parsed], unread: Sequence[str]) -> str:
    if not files and unread:
        return (
            f"the grammar of {environment.language} understands none of the {len(unread)} files of "
            f"{environment.name} that may be edited, as {unread[0]}: is that their language?"
        )
    if not files:
        globs = ", ".join(environment.edits.permitted)
        return (
            f"{environment.name} has no {environment.language} source that may be edited; "
            f"`edits` in {environment.folder}/environment.toml permits: {globs}"
        )
    return f"the operators find no place in {len(files)} files of {environment.name}; name others"
