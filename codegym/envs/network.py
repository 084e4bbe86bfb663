"""An episode's way out of its sandbox: opened before it, as of its task's date, closed with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.envs.purpose import purpose_of, refuse_what_pip_holds
from codegym.errors import TaskError, UsageError
from codegym.grading.ready import Ready
from codegym.network.clients import files, variables
from codegym.network.pip_wheel import pip_layer, wheel_of
from codegym.network.policy import NetworkPolicy, find_policy
from codegym.network.registries import registry_addresses
from codegym.network.ways import Keeping, Purpose, Way, ways
from codegym.store import LayerStore
from codegym.types import SandboxSpec

#: The policy that opens no way at all.
NONE = "none"


class Network:
    """What episodes may reach, and how: their policy, and what it needs of this machine.

    Args:
        policy: What they may reach.

    Raises:
        DataError: It is wrong.
        UnavailableError: A registry that it names is not configured here, or pip not to be had.
    """

    def __init__(self, policy: NetworkPolicy) -> None:
        self.policy = policy
        self._registries: Mapping[str, Sequence[str]] = registry_addresses(policy.registries)
        policy.check(self._registries)
        self._pip = "pip" in policy.registries
        self._purposes: dict[str, Purpose] = {}

    @classmethod
    def named(cls, name: str) -> Network | None:
        """Of the policy with a name or path; None for ``"none"``, which needs no proxy.

        Raises:
            UsageError: There is no such policy. Else as the class.
        """
        return None if name == NONE else cls(find_policy(name))

    def prepare(self) -> None:
        """Get what is missing on this machine; takes a while, once. Raises as ``open`` does."""
        ways().start()
        if self._pip:
            pip_layer(LayerStore())

    async def open(self, ready: Ready, keeping: Keeping) -> Way:
        """Open the way out of a task's episode.

        Args:
            ready: The task.
            keeping: What of it is kept.

        Raises:
            SandboxError: The proxy does not work.
            TaskError: What the policy brings into the sandbox holds the task's answer.
            UnavailableError: Something cannot be fetched.
        """
        opening = asyncio.ensure_future(asyncio.to_thread(self._open, ready, keeping))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_close_stray)  # a thread cannot be stopped
            raise

    def _open(self, ready: Ready, keeping: Keeping) -> Way:
        purpose = self._purpose(ready)
        try:
            return ways().open(self.policy, self._registries, purpose, keeping)
        except UsageError as error:  # the policy was checked: it is the task's date that is wrong
            raise TaskError(ready.task.instance_id, str(error)) from error

    def _purpose(self, ready: Ready) -> Purpose:
        """What a registry has to know of a task; found once, as a search through its tree is."""
        key = f"{ready.prepared.digest} {ready.task.created_at} {ready.task.patch}"
        if key not in self._purposes:
            if self._pip:
                refuse_what_pip_holds(ready)
            self._purposes[key] = purpose_of(ready)
        return self._purposes[key]

    def spec(self, spec: SandboxSpec, way: Way) -> SandboxSpec:
        """A sandbox's spec with a way out."""
        wheel = wheel_of(pip_layer(LayerStore())) if self._pip else b""
        return replace(
            spec,
            egress=way.socket,
            env={**spec.env, **variables(spec.image.env, way.registries, pip=self._pip)},
            files={**spec.files, **files(way.certificate, wheel)},
        )


async def check(way: Way, *, ended: bool) -> None:
    """Raise ``SandboxError`` where an episode's way out broke, through no doing of the agent's."""
    if not way.is_open:
        await asyncio.to_thread(way.check)
    if ended:
        await asyncio.to_thread(way.check_upstream)


def _close_stray(opening: asyncio.Future[Way]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
