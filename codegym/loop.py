"""A run, in the order that data flows. Start reading here.

task source ─► policy ─► backend ─► setting ─► rollouts ─► run folder ─► summary
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import codegym
from codegym.agents import load_policy
from codegym.agents.load import charge, closing, pinned_options
from codegym.agents.replay import Replay
from codegym.envs.kinds import choose_rows
from codegym.envs.options import EpisodeOptions
from codegym.envs.rollouts import Rollouts
from codegym.envs.stage import Stage, images_of, open_stage
from codegym.grading.setting import Setting
from codegym.registration import resolve
from codegym.runs import EpisodeRecord, Pins, RunFolder, Summary, open_run, summarize
from codegym.runs.pins import file_digest
from codegym.runs.recorder import Recorder
from codegym.tasks.sealed import seal_of
from codegym.tasks.sources import environment
from codegym.types import Image, Policy, TaskSource


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What to run: see ``codegym run --help``."""

    env_id: str
    out: Path
    policy: str
    tasks: str | None = None
    workers: int = 1
    samples: int = 1
    seed: int = 0
    policy_options: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = "auto"
    options: EpisodeOptions = field(default_factory=EpisodeOptions)


class Watcher:
    """Told how a run goes; override what is wanted."""

    def note(self, text: str) -> None:
        """Something that takes a while is being prepared."""

    def begin(self, total: int, finished: int) -> None:
        """There are so many episodes, of which so many were finished before."""

    def end(self, record: EpisodeRecord) -> None:
        """An episode ended."""


async def run(
    config: RunConfig, watcher: Watcher | None = None, stage: Stage | None = None
) -> Summary:
    """Play a policy on tasks, into a folder; go on where an earlier start was stopped.

    Args:
        config: What to run.
        watcher: Told how it goes.
        stage: Where episodes are played; None: in sandboxes of this process.

    Raises:
        UsageError: An option that cannot be used, or a folder of another run.
        UnavailableError: No sandbox works here, the disk is full, or a policy's endpoint is down.
    """
    watcher = watcher or Watcher()
    reachable = config.options.reachable

    # Tasks come from a source, actions from a policy.
    source = choose_rows(resolve(config.tasks), config.options.kind)
    policy = load_policy(config.policy, source, config.policy_options)
    replayed = open_run(policy.folder) if isinstance(policy, Replay) else None

    # Sandboxes come from a backend. A setting makes tasks ready in them, and grades in fresh ones.
    async with closing(policy), open_stage(config.sandbox, watcher.note, stage) as place:
        images = await images_of(source, place, config.options.kind)

        # Whatever would make this another run is pinned; the folder refuses to go on with another.
        pins = pin(config, source, policy, images)
        with RunFolder(config.out, pins, seal_of(source)) as folder:
            if reachable is not None:
                watcher.note("starting the egress proxy")
                await asyncio.to_thread(reachable.prepare)
            rollouts = Rollouts(
                place,
                source,
                config.options,
                workers=config.workers,
                seed=config.seed,
                done=folder.finished,
                checkpoints=folder.checkpoints(),
                listener=Recorder(folder, replayed),
            )
            charge(policy, folder.tokens_spent)
            watcher.begin(config.samples * sum(1 for _ in source), len(folder.finished))

            # Episodes end in any order. Each is on the disk before the next is looked at.
            async with aclosing(rollouts.run(policy, samples=config.samples)) as results:
                async for result in results:
                    watcher.end(folder.finish(result))

    return summarize(open_run(config.out).episodes())


@asynccontextmanager
async def open_setting(sandbox: str, note: Callable[[str], None]) -> AsyncIterator[Setting]:
    """A setting over a backend; both are closed at the end."""
    setting = Setting.on(sandbox, progress=note)
    try:
        yield setting
    finally:
        await setting.close()


def pin(config: RunConfig, source: TaskSource, policy: Policy, images: Mapping[str, Image]) -> Pins:
    """What the run is pinned to."""
    homes = {name: environment(name) for name in images}
    options = {**asdict(config.options), "sandbox": config.sandbox}
    if config.options.reachable is not None:
        options["network_digest"] = config.options.reachable.policy.digest
    return Pins(
        codegym=codegym.__version__,
        env_id=config.env_id,
        kind=config.options.kind,
        tasks=config.tasks or "",
        tasks_digest=source.digest,
        environments={name: home.digest for name, home in homes.items()},
        images={name: image.digest for name, image in images.items()},
        requirements={name: file_digest(home.image.requirements) for name, home in homes.items()},
        policy=config.policy,
        policy_version=policy.version,
        sampling=pinned_options(policy, config.policy_options),
        samples=config.samples,
        seed=config.seed,
        options={name: str(value) for name, value in options.items()},
    )
