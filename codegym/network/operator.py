"""What the operator of this machine says about the proxy: ``.codegym/proxy.toml``."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codegym.errors import DataError
from codegym.network.process import ProxyConfig

FILE = Path(".codegym/proxy.toml")
#: How clients on the host are told of authorities of their own; the proxy is one of them.
_HOST_CA = "SSL_CERT_FILE"


class _File(BaseModel):
    """The file's keys (see ``ProxyConfig``)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    upstream_ca: str = ""
    hosts: dict[str, str] = Field(default_factory=dict)
    private_addresses: list[str] = Field(default_factory=list)


def operator_config(path: Path = FILE) -> ProxyConfig:
    """Read the operator's file; without one, nothing that is not public is reached.

    Raises:
        DataError: The file is wrong.
    """
    read = _read(path)
    for each in read.private_addresses:
        if not _is_address(each):
            raise DataError(path, f"{each!r} is not ADDRESS:PORT", field="private_addresses")
    for name, each in read.hosts.items():
        if "." not in name or "*" in name:
            raise DataError(path, f"{name!r} is not the whole name of a host", field="hosts")
        if not _is_address(f"{each}:443"):
            raise DataError(path, f"{each!r} is not an address", field=f"hosts.{name}")
    return ProxyConfig(
        upstream_ca=_upstream_ca(path, read.upstream_ca),
        hosts=read.hosts,
        private_addresses=tuple(read.private_addresses),
    )


def _read(path: Path) -> _File:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        table = {}
    except (OSError, ValueError) as error:
        raise DataError(path, f"not TOML: {error}") from error
    try:
        return _File.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        problem, field = first["msg"], ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            problem = f"unknown key; there are {', '.join(_File.model_fields)}"
        elif field.removeprefix("hosts.") in _File.model_fields and "." in field:
            problem = "a key of the file, not of [hosts]: write it above that line"
        raise DataError(path, problem, field=field) from error


def _upstream_ca(path: Path, written: str) -> Path | None:
    """The file of authorities that origins are verified by; None for the usual ones."""
    if not written:
        usual = os.environ.get(_HOST_CA, "")
        return Path(usual).absolute() if usual else None
    found = (path.parent / Path(written).expanduser()).absolute()
    if not found.is_file():
        raise DataError(path, f"there is no file {found}", field="upstream_ca")
    return found


def _is_address(text: str) -> bool:
    """Whether it is an IP address as the system writes it, a colon and a port."""
    host, _, port = text.rpartition(":")
    try:
        return str(ipaddress.ip_address(host)) == host and 0 < int(port) < 65536
    except ValueError:
        return False
