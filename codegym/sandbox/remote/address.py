"""Where a server is, and the secret that it asks for."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from codegym.errors import UnavailableError, UsageError

TOKEN, TOKEN_FILE, CA = "CODEGYM_TOKEN", "CODEGYM_TOKEN_FILE", "CODEGYM_REMOTE_CA"
_MIN_TOKEN_CHARS = 16
_FORM = "remote:https://HOST:PORT, or remote:http://127.0.0.1:PORT on this machine"


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address; ``secure`` is TLS."""

    host: str
    port: int
    secure: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}"


def parse(url: str) -> Address:
    """Read an address. Raises ``UsageError``; never shows what may be a secret in it."""
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query:
        raise UsageError(f"a token has no place in a URL; set {TOKEN} or {TOKEN_FILE}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not port
        or parts.path not in ("", "/")
        or parts.fragment
    ):
        raise UsageError(f"{url!r} is not the address of a sandbox server: {_FORM}")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(
            f"{url} is on another machine, where only https is spoken with: {_FORM}. "
            "An SSH tunnel (`ssh -L PORT:127.0.0.1:PORT HOST`) makes it one of this machine"
        )
    return Address(parts.hostname, port, parts.scheme == "https")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by the look of its name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def find_token(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The token in the environment, or in the file that it names; None without either.

    Raises:
        UsageError: It is too short, or the file cannot be read.
    """
    if environment.get(TOKEN):
        return checked(environment[TOKEN], TOKEN)
    if environment.get(TOKEN_FILE):
        return read_token(Path(environment[TOKEN_FILE]), TOKEN_FILE)
    return None


def read_token(path: Path, source: str) -> bytes:
    """The token in a file. Raises ``UsageError``."""
    try:
        return checked(path.read_text(encoding="utf-8"), source)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: {path} cannot be read: {error}") from error


def checked(text: str, source: str) -> bytes:
    """A token, without the space around it. Raises ``UsageError``; does not show it."""
    token = text.strip()
    if len(token) < _MIN_TOKEN_CHARS:
        raise UsageError(f"{source}: a token has at least {_MIN_TOKEN_CHARS} characters")
    return token.encode()


def trust(address: Address) -> ssl.SSLContext | None:
    """What a server's certificate is held against: its host, and the system's or your own CA.

    Raises:
        UnavailableError: The CA's file cannot be read.
    """
    if not address.secure:
        return None
    file = os.environ.get(CA) or None
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:
        raise UnavailableError(
            f"{CA}: {file} cannot be read: {error}", "Name the PEM file of the CA's certificate"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context
