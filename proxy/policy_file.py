"""Reads a policy from TOML; whatever is wrong with it is an error then, never at a request."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import unquote, urlsplit

from .names import NameRefusedError, canonical_path, normalise
from .rules import BODILESS, METHODS, Limits, Policy, Rule

#: Kinds of registries that a rule may name instead of hosts.
REGISTRIES = ("pip", "npm")
_RULE_KEYS = ("name", "hosts", "registry", "as_of", "methods", "paths", "ports")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
#: Below a country, where whoever asks gets a name: `*.co.uk` is as wide as `*.com`.
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "go", "gob", "gov", "ne", "net", "or", "org"))


class PolicyError(ValueError):
    """A policy is wrong; the message says where and what."""


def read_policy(text: str, registries: Mapping[str, Sequence[str]]) -> Policy:
    """Read a policy.

    Args:
        text: TOML.
        registries: For each kind of registry that the policy names, its addresses (``https://…``),
            as the client on the host is configured.

    Raises:
        PolicyError: Anything is wrong with it.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"not TOML: {error}") from error
    _known(table, ("summary", "limits", "allow"), "")
    summary = table.get("summary", "")
    allow = table.get("allow", [])
    if not isinstance(summary, str):
        raise PolicyError("summary: not a string")
    if not isinstance(allow, list) or not all(isinstance(entry, dict) for entry in allow):
        raise PolicyError("allow: not a list of tables; write [[allow]]")
    rules = [rule for entry in allow for rule in _rules(entry, registries)]
    names = [rule.name for rule in rules]
    if len(set(names)) < len(names):
        raise PolicyError(f"allow: two rules have one name, of {', '.join(sorted(names))}")
    limits = _limits(table.get("limits", {}))
    if not summary and not allow:
        raise PolicyError(
            "it has no [[allow]], so nothing would pass; if that is meant, use the policy 'none' "
            "or say so in a summary"
        )
    return Policy(tuple(rules), limits, summary)


def registries_named(text: str) -> tuple[str, ...]:
    """The kinds of registries that a policy's text names, so that a caller can look them up."""
    try:
        allow = tomllib.loads(text).get("allow")
    except tomllib.TOMLDecodeError:
        return ()
    entries = allow if isinstance(allow, list) else []
    named = [entry.get("registry") for entry in entries if isinstance(entry, dict)]
    return tuple(kind for kind in REGISTRIES if kind in named)


def _rules(entry: dict[str, Any], registries: Mapping[str, Sequence[str]]) -> list[Rule]:
    """A table's rules: one, or one for each address of its registry."""
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PolicyError(f"allow: name: {name!r} is no name (lower case letters, digits and -)")
    where = f"allow {name!r}"
    _known(entry, _RULE_KEYS, where)
    if ("hosts" in entry) == ("registry" in entry):
        raise PolicyError(f"{where}: needs either hosts or registry")
    methods = _strings(entry, "methods", ("GET", "HEAD"), where)
    if wrong := [each for each in methods if each not in METHODS]:
        raise PolicyError(f"{where}: methods: {wrong[0]!r} is not one of {', '.join(METHODS)}")
    if entry.get("as_of", "") not in ("", "task"):
        raise PolicyError(f'{where}: as_of: {entry["as_of"]!r} is not "task"')
    as_of = entry.get("as_of", "")
    if as_of and ("registry" not in entry or not BODILESS.issuperset(methods)):
        raise PolicyError(f"{where}: as_of: only a registry that is read can be as of a date")
    if "registry" in entry:
        if "ports" in entry:
            raise PolicyError(f"{where}: ports: come from the registry's address")
        kind = entry["registry"]
        return [
            Rule(each, (host,), methods, globs, (port,), as_of, kind, root, credentials)
            for each, host, port, root, credentials in _addresses(name, kind, registries, where)
            for globs in (_globs(entry, where, "" if as_of and "paths" not in entry else root),)
        ]
    hosts = tuple(_host(each, f"{where}: hosts") for each in _strings(entry, "hosts", (), where))
    return [Rule(name, hosts, methods, _globs(entry, where, ""), _ports(entry, where), as_of)]


def _addresses(
    name: str, kind: object, registries: Mapping[str, Sequence[str]], where: str
) -> list[tuple[str, str, int, str, str]]:
    """For each address of a registry: the rule's name, host, port, path and credentials."""
    if kind not in REGISTRIES:
        raise PolicyError(f"{where}: registry: {kind!r} is not one of {', '.join(REGISTRIES)}")
    given = registries.get(str(kind), ())
    if not given:
        raise PolicyError(f"{where}: registry: no address of the registry {kind!r} is known here")
    found = []
    for number, address in enumerate(given, 1):
        try:
            parts = urlsplit(address)
            host, port = _host(parts.hostname or "", f"{where}: registry"), parts.port or 443
            prefix = canonical_path(parts.path or "/").rstrip("/")
        except ValueError as error:
            raise PolicyError(f"{where}: registry: {kind}'s address: {error}") from error
        if parts.scheme != "https" or "*" in host or "*" in prefix:
            raise PolicyError(f"{where}: registry: {kind}'s address does not begin with https://")
        each = name if number == 1 else f"{name}-{number}"
        user, at, _ = parts.netloc.rpartition("@")
        found.append((each, host, port, prefix, unquote(user) if at else ""))
    return found


def _globs(entry: dict[str, Any], where: str, prefix: str) -> tuple[str, ...]:
    globs = _strings(entry, "paths", ("/**",), where)
    for each in globs:
        try:
            fits = canonical_path(each) == each
        except ValueError:
            fits = False
        if not fits:
            raise PolicyError(f"{where}: paths: {each!r} is no path that a request can have")
    return tuple(prefix + each for each in globs)


def _ports(entry: dict[str, Any], where: str) -> tuple[int, ...]:
    ports = entry.get("ports", [443])
    if not isinstance(ports, list) or not ports:
        raise PolicyError(f"{where}: ports: not a list of numbers")
    for port in ports:
        if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
            raise PolicyError(f"{where}: ports: {port!r} is no port")
    return tuple(ports)


def _strings(
    entry: dict[str, Any], key: str, default: tuple[str, ...], where: str
) -> tuple[str, ...]:
    values = entry.get(key, list(default))
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise PolicyError(f"{where}: {key}: not a list of strings")
    if not values:
        raise PolicyError(f"{where}: {key}: the list is empty")
    return tuple(values)


def _limits(table: object) -> Limits:
    if not isinstance(table, dict):
        raise PolicyError("limits: not a table")
    _known(table, [field.name for field in fields(Limits)], "limits")
    for key, value in table.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise PolicyError(f"limits: {key}: {value!r} is no number from 0")
    return Limits(**table)


def _known(table: dict[str, Any], keys: Iterable[str], where: str) -> None:
    names = list(keys)
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            raise PolicyError(f"{where}: unknown key {key!r}; {hint}".removeprefix(": "))


def _host(text: str, where: str) -> str:
    """A host of a policy: a name, or ``*.`` and a name."""
    if not text.strip():
        raise PolicyError(f"{where}: the host is empty")
    if text == "*":
        raise PolicyError(f"{where}: a bare * would allow every host; list the names")
    wild, base = text.startswith("*."), text.removeprefix("*.")
    if "*" in base:
        raise PolicyError(f"{where}: {text!r}: a * stands only for the whole first label")
    try:
        name = normalise(base)
    except NameRefusedError as error:
        if wild and "." not in base.strip("."):
            raise PolicyError(f"{where}: the wildcard {text!r} is too wide") from error
        raise PolicyError(f"{where}: {error}") from error
    labels = name.split(".")
    if wild and len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _SECOND_LEVEL:
        raise PolicyError(f"{where}: the wildcard {text!r} is too wide")
    return f"*.{name}" if wild else name
