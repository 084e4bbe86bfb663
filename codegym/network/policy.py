"""Finding a policy by name or path, and asking what it would say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.network.rules import policy_file, rules
from codegym.resources import data_root

_OWN = Path(".codegym/policies")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a client would be told.

    Attributes:
        allowed: Whether the request would pass.
        rule: The name of the rule that lets it, or ``""``.
        reason: Why, for people.
    """

    allowed: bool
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """A policy of the network: a file's text, checked only when the registries are known.

    Attributes:
        path: Where it was read.
        text: TOML.
        registries: The kinds of registries that it names, such as ``"pip"``.
    """

    path: Path
    text: str = field(repr=False)
    registries: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Hash of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def check(self, registries: Mapping[str, Sequence[str]]) -> None:
        """Raise ``DataError`` where it is wrong."""
        self._read(registries)

    def hosts(self, registries: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """The hosts that it names, those left out that only a wildcard stands for."""
        allowed = self._read(registries).rules
        return frozenset(host for rule in allowed for host in rule.hosts if "*" not in host)

    def dated(self, registries: Mapping[str, Sequence[str]]) -> frozenset[str]:
        """The hosts of which the proxy itself answers, as of a date."""
        allowed = self._read(registries).rules
        return frozenset(host for rule in allowed if rule.as_of for host in rule.hosts)

    def explain(
        self, url: str, registries: Mapping[str, Sequence[str]], method: str = "GET"
    ) -> Explanation:
        """What a client that asks for ``url`` would be told.

        Args:
            url: An ``https`` address.
            registries: The addresses of each registry that the policy names.
            method: The request's method.

        Raises:
            DataError: The policy is wrong.
        """
        verdict = rules.explain(self._read(registries), url, method)
        reason = verdict.reason
        if any(rule.as_of and rule.name == verdict.rule for rule in self._read(registries).rules):
            reason += "; what is newer than the task, and the project under test, are not there"
        return Explanation(verdict.allowed, verdict.rule, reason)

    def _read(self, registries: Mapping[str, Sequence[str]]) -> rules.Policy:
        try:
            return policy_file.read_policy(self.text, registries)
        except policy_file.PolicyError as error:
            raise DataError(self.path, str(error)) from error


def find_policy(name: str) -> NetworkPolicy:
    """Find a policy: a path of a ``.toml`` file, a name in ``.codegym/policies``, or a bundled one.

    Raises:
        NotFoundError: There is none.
        UsageError: The name is there twice.
        DataError: The file is not text.
    """
    path = _find(name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, "not UTF-8") from error
    except OSError as error:
        raise NotFoundError("network policy", name, hint=str(error.strerror)) from error
    return NetworkPolicy(path, text, policy_file.registries_named(text))


def policy_names() -> list[str]:
    """The names that are found without a path, sorted."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def _find(name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    found = [path for folder in _folders() if (path := folder / f"{name}.toml").is_file()]
    if not found:
        raise NotFoundError(
            "network policy", name, policy_names(), "or give the path of a .toml file"
        )
    if len(found) > 1:
        raise UsageError(
            f"there are two network policies named {name!r}: {found[0]} and {found[1]}"
        )
    return found[0]


def _folders() -> tuple[Path, Path]:
    return _OWN, data_root("proxy") / "policies"
