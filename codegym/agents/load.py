"""From a policy's name to a policy."""

from __future__ import annotations

from collections.abc import Mapping
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
}

#: Policies with a short form ``NAME:VALUE``, and the option that the value is for.
SHORT_FORMS: Mapping[str, str] = {"replay": "run", "scripted": "path"}


@runtime_checkable
class Sighted(Protocol):
    """A policy that is shown the answers: it is told where the tasks come from."""

    def reveal(self, source: TaskSource) -> None:
        """Note the tasks, gold patches among them."""
        ...


def load_policy(name: str, source: TaskSource, options: Mapping[str, str] | None = None) -> Policy:
    """Make a policy.

    Args:
        name: A built-in name, ``scripted:PATH``, ``replay:RUN`` (or ``replay:RUN#EPISODE``),
            a plug-in's name, or ``module:attr``.
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
