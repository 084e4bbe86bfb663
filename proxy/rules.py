"""Who may ask what of whom: policies, names, and verdicts. Pure; the standard library only.

A policy is a default of "no" and a list of rules. A request passes if the name that its tunnel was
opened to (CONNECT), the name of its TLS handshake (SNI) and the name in the request itself
(``Host``, ``:authority``) are all the same, and a rule has that name, its port, method and path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .headers import Header, misleading
from .index import KINDS
from .names import NameRefusedError, canonical_path, glob, normalise

#: Methods that carry no body.
BODILESS = frozenset(("GET", "HEAD"))
#: What a rule may have: what is registered (RFC 9110), but for CONNECT and TRACE, and PATCH.
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


@dataclass(frozen=True, slots=True)
class Limits:
    """What an episode may use at most.

    Attributes:
        max_requests: Requests, denied ones included.
        max_upload_bytes: Bytes that leave the sandbox, as sent: handshakes and headers included.
        max_download_bytes: Bytes of all responses' bodies.
        max_response_bytes: Bytes of one response's body.
        max_header_bytes: Bytes of one request's headers and target.
        max_query_chars: Characters of one request's query.
        max_connections: Connections that are open at the same time.
    """

    max_requests: int = 5_000
    max_upload_bytes: int = 16 << 20
    max_download_bytes: int = 2 << 30
    max_response_bytes: int = 1 << 30
    max_header_bytes: int = 8192
    max_query_chars: int = 256
    max_connections: int = 64


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is allowed.

    Attributes:
        name: What ``explain`` and logs call it.
        hosts: Names; ``*.`` in front stands for exactly one label.
        methods: Methods, in capitals.
        paths: Globs: ``*`` stays within a segment, ``**`` does not.
        ports: Ports of tunnels.
        as_of: ``"task"`` if what is served is to be as it was at the task's date, else ``""``.
        registry: The kind of registry that it is, or ``""``.
        root: Where on its host the registry is: a path without a slash at the end.
        credentials: ``USER:PASSWORD`` for it, or ``""``.
    """

    name: str
    hosts: tuple[str, ...]
    methods: tuple[str, ...] = ("GET", "HEAD")
    paths: tuple[str, ...] = ("/**",)
    ports: tuple[int, ...] = (443,)
    as_of: str = ""
    registry: str = ""
    root: str = ""
    credentials: str = field(default="", repr=False)

    def has_path(self, path: str) -> bool:
        """Whether a canonical path is one of this rule's."""
        if self.as_of and KINDS[self.registry].ask(self.root, path) is None:
            return False
        return any(glob(each).fullmatch(path) for each in self.paths)

    def has_host(self, host: str) -> bool:
        """Whether a normalised name is one of this rule's."""
        first, _, rest = host.partition(".")
        return host in self.hosts or (bool(first) and f"*.{rest}" in self.hosts)


@dataclass(frozen=True, slots=True)
class Policy:
    """What an episode may reach: nothing but what a rule allows."""

    rules: tuple[Rule, ...] = ()
    limits: Limits = Limits()
    summary: str = ""

    def rule(self, name: str) -> Rule:
        """The rule of a name. Raises ``KeyError`` if there is none."""
        return {rule.name: rule for rule in self.rules}[name]


@dataclass(slots=True)
class Spent:
    """What an episode has used so far, in the units of ``Limits``.

    Attributes:
        fetched: Bytes that indexes as of a date fetched for it; as many as it may download.
    """

    requests: int = 0
    uploaded: int = 0
    downloaded: int = 0
    fetched: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a request said, as it was sent.

    Attributes:
        connect: The name in CONNECT.
        port: The port in CONNECT.
        sni: The name of the TLS handshake, or None if it had none.
        hosts: The value of each ``Host`` header.
        authority: ``:authority`` (HTTP/2) or the authority of an absolute target, which nobody has
            a reason to send in a tunnel; else ``""``.
        http2: Whether the request came over HTTP/2, where ``Host`` may be missing.
        method: The method as it was sent: they are case-sensitive.
        target: Path and query.
        header_bytes: Size of all headers' names and values.
        has_body: Whether a body was announced.
        upgrade: Whether another protocol was asked for.
        odd_headers: Whether headers can be read in two ways, as when requests are smuggled.
        headers: All headers.
    """

    connect: str
    port: int
    sni: str | None
    hosts: tuple[str, ...]
    method: str
    target: str
    authority: str = ""
    http2: bool = False
    header_bytes: int = 0
    has_body: bool = False
    upgrade: bool = False
    odd_headers: bool = False
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something may pass.

    Attributes:
        allowed: Whether.
        rule: The name of the rule that allows it, or ``""``.
        reason: Why, for people.
    """

    allowed: bool
    rule: str
    reason: str


class _Denied(Exception):  # noqa: N818  (a way out, never seen outside)
    pass


def decide_tunnel(policy: Policy, host: str, port: int, spent: Spent) -> Verdict:
    """Whether a tunnel to a name and port may be opened, before anything is asked in it."""
    try:
        _within_budget(policy.limits, spent)
        rules = _rules_for(policy, _wire_name(host, "CONNECT"), port)
    except _Denied as denied:
        return Verdict(False, "", str(denied))
    return Verdict(True, rules[0].name, "a rule has this host and port")


def decide_tls(policy: Policy, host: str, port: int, sni: str | None, spent: Spent) -> Verdict:
    """Whether a TLS handshake within a tunnel may go on."""
    tunnel = decide_tunnel(policy, host, port, spent)
    try:
        if tunnel.allowed:
            _same_sni(_wire_name(host, "CONNECT"), sni)
    except _Denied as denied:
        return Verdict(False, "", str(denied))
    return tunnel


def decide(policy: Policy, facts: Facts, spent: Spent) -> Verdict:
    """Whether a request may pass: the one verdict that lets anything out."""
    try:
        host = _wire_name(facts.connect, "CONNECT")
        rules = _rules_for(policy, host, facts.port)
        _same_sni(host, facts.sni)
        _same_host(host, facts)
        _within_budget(policy.limits, spent)
        _within_limits(policy.limits, facts)
        rule = _rule_for(rules, facts)
    except _Denied as denied:
        return Verdict(False, "", str(denied))
    return Verdict(True, rule.name, f"rule {rule.name!r} has this host, port, method and path")


def explain(policy: Policy, url: str, method: str = "GET") -> Verdict:
    """What an ordinary client that asks for ``url`` would be told."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "https":
            return Verdict(False, "", "only https is let through")
        if parts.username is not None:
            return Verdict(False, "", "addresses with a user name are not let through")
        name, port = normalise(parts.hostname or ""), parts.port or 443
    except ValueError as error:
        return Verdict(False, "", str(error))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    facts = Facts(name, port, name, (name,), method, target, has_body=method not in BODILESS)
    return decide(policy, facts, Spent(requests=1))


def _wire_name(text: str, what: str) -> str:
    """A name from the wire, where only ASCII is a name."""
    if not text.isascii():
        raise _Denied(f"{what} is not ASCII")
    try:
        return normalise(text)
    except NameRefusedError as error:
        raise _Denied(f"{what}: {error}") from error


def _authority(text: str, port: int, what: str) -> str:
    """The name in ``NAME[:PORT]``; a port has to be the tunnel's."""
    name, colon, given = text.partition(":")
    if colon and given != str(port):
        raise _Denied(f"{what} {text[:100]!r} has another port than the tunnel's {port}")
    return _wire_name(name, what)


def _rules_for(policy: Policy, host: str, port: int) -> list[Rule]:
    named = [rule for rule in policy.rules if rule.has_host(host)]
    if not named:
        raise _Denied(f"no rule has the host {host!r}")
    rules = [rule for rule in named if port in rule.ports]
    if not rules:
        raise _Denied(f"rule {named[0].name!r} has the host {host!r}, but not port {port}")
    return rules


def _same_sni(host: str, sni: str | None) -> None:
    if not sni:
        raise _Denied("the TLS handshake names no host (no SNI)")
    if _wire_name(sni, "SNI") != host:
        raise _Denied(f"SNI {sni[:100]!r} is not CONNECT's host {host!r}")


def _same_host(host: str, facts: Facts) -> None:
    if len(facts.hosts) > 1 or (not facts.hosts and not facts.http2):
        raise _Denied(f"{len(facts.hosts)} Host headers; there has to be one")
    if facts.http2 and not facts.authority:
        raise _Denied("no :authority")
    if facts.authority and not facts.http2:
        raise _Denied("the target is an absolute one (https://…), within a tunnel")
    named = [("Host", value) for value in facts.hosts]
    named += [(":authority", facts.authority)] if facts.http2 else []
    for what, value in named:
        if _authority(value, facts.port, what) != host:
            raise _Denied(f"{what} {value[:100]!r} is not CONNECT's host {host!r}")


def _within_budget(limits: Limits, spent: Spent) -> None:
    _at_most("the episode's requests", spent.requests, limits.max_requests)
    _at_most("bytes that the episode sent", spent.uploaded, limits.max_upload_bytes)
    _at_most("bytes that the episode received", spent.downloaded, limits.max_download_bytes)


def _within_limits(limits: Limits, facts: Facts) -> None:
    query = facts.target.partition("?")[2]
    _at_most("headers' bytes", facts.header_bytes + len(facts.target), limits.max_header_bytes)
    _at_most("the query's characters", len(query), limits.max_query_chars)


def _at_most(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise _Denied(f"{what}: {value} is more than {limit}")


def _rule_for(rules: Sequence[Rule], facts: Facts) -> Rule:
    if facts.odd_headers:
        raise _Denied("headers that can be read in more than one way")
    if not all("!" <= char <= "~" for char in facts.target):
        raise _Denied("the target has characters that targets do not have")
    if facts.upgrade:
        raise _Denied("another protocol was asked for (an upgrade)")
    if why := misleading(facts.headers):
        raise _Denied(why)
    if facts.has_body and facts.method in BODILESS:
        raise _Denied(f"{facts.method} with a body")
    try:
        path = canonical_path(facts.target.partition("?")[0])
    except ValueError as error:
        raise _Denied(str(error)) from error
    fitting = [rule for rule in rules if facts.method in rule.methods]
    if not fitting:
        raise _Denied(f"rule {rules[0].name!r} has the host, but not the method {facts.method!r}")
    for rule in fitting:
        if rule.has_path(path):
            return rule
    raise _Denied(f"rule {fitting[0].name!r} has the host, but not the path {path[:100]!r}")
