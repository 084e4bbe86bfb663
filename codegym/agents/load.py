"""From a policy's name to a policy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from codegym import plugins
from codegym.errors import UsageError
from codegym.types import Policy, TaskSource

BUILTIN: Mapping[str, str] = {
    "oracle": "codegym.agents.oracle:Oracle",
    "noop": "codegym.agents.noop:Noop",
    "random": "codegym.agents.random:Random",
    "replay": "codegym.agents.replay:Replay",
    "scripted": "codegym.agents.scripted:Scripted",
    "random_edit": "codegym.agents.random_edit:RandomEdit",
    "unigram": "codegym.agents.unigram:Unigram",
    "pointer": "codegym.integrations.sb3.acting:Pointer",
    "chat": "codegym.agents.chat:Chat",
    "hf": "codegym.agents.lm:LanguageModel",
}

#: Policies with a short form ``NAME:VALUE``, and the option that the value is for.
SHORT_FORMS: Mapping[str, str] = {
    "replay": "run", "scripted": "path", "chat": "model", "hf": "model",
    "unigram": "learn_from", "pointer": "run",
}  # fmt: skip


@runtime_checkable
class Sighted(Protocol):
    """A policy that is shown the answers: it is told where the tasks come from."""

    def reveal(self, source: TaskSource) -> None:
        """Note the tasks, gold patches among them."""
        ...


@runtime_checkable
class Connected(Protocol):
    """A policy that holds connections."""

    async def aclose(self) -> None:
        """Let go of them. Idempotent; it can be used again afterwards."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A policy that costs tokens, and may have a bound on them."""

    def charge(self, tokens: int) -> None:
        """Note what was spent on the run before."""
        ...


def policy_options(name: str) -> frozenset[str]:
    """The options that a policy has besides what its name says.

    Raises:
        NotFoundError: No such policy.
    """
    head, separator, _ = name.partition(":")
    short = bool(separator) and head in SHORT_FORMS
    found = plugins.load("policies", head if short else name, BUILTIN)
    options = plugins.options_of(found) if isinstance(found, type) else frozenset()
    return options - {SHORT_FORMS[head]} if short else options


@asynccontextmanager
async def closing(policy: Policy) -> AsyncIterator[None]:
    """Close a policy's connections at the end, where it has any."""
    try:
        yield
    finally:
        if isinstance(policy, Connected):
            await policy.aclose()


def charge(policy: Policy, tokens: int) -> None:
    """Tell a policy that costs tokens what was spent on its run before."""
    if isinstance(policy, Metered):
        policy.charge(tokens)


def pinned_options(policy: Policy, options: Mapping[str, str]) -> dict[str, str]:
    """The options that make a policy behave as it does: all but those in its ``unpinned``.

    Where an endpoint is, how patient and how costly one is may change when a run is resumed.
    """
    unpinned: frozenset[str] = getattr(policy, "unpinned", frozenset())
    return {name: value for name, value in options.items() if name not in unpinned}


def load_policy(name: str, source: TaskSource, options: Mapping[str, str] | None = None) -> Policy:
    """Make a policy.

    Args:
        name: A built-in name, ``scripted:PATH``, ``replay:RUN`` (or ``replay:RUN#EPISODE``),
            ``unigram:SOURCE``, ``pointer:RUN``, ``chat:MODEL``, ``hf:PATH_OR_NAME``, a plug-in's
            name, or ``module:attr``.
        source: The tasks it will be given; only a ``Sighted`` policy looks at them.
        options: Its options as text, validated by its own dataclass.

    Raises:
        NotFoundError: No such policy or option.
        UsageError: An option's value is wrong, or what the name stands for is no policy.
    """
    given = dict(options or {})
    head, separator, value = name.partition(":")
    if separator and head in SHORT_FORMS:
        name, given[SHORT_FORMS[head]] = head, value
    found = plugins.load("policies", name, BUILTIN)
    policy: object = plugins.configure(found, given) if isinstance(found, type) else found
    if not isinstance(policy, Policy):
        raise UsageError(
            f"{name!r} is no policy: it needs `version` and `async act(history)` "
            "(see codegym.types.Policy)"
        )
    if isinstance(policy, Sighted):
        policy.reveal(source)
    return policy
