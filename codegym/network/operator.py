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
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        table = {}
    except (OSError, ValueError) as error:
        raise DataError(path, f"not TOML: {error}") from error
    try:
        read = _File.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"]
        if first["type"] == "extra_forbidden":
            problem = f"unknown key; there are {', '.join(_File.model_fields)}"
        raise DataError(path, problem, field=".".join(map(str, first["loc"]))) from error
    for each in read.private_addresses:
        if not _is_address(each):
            raise DataError(path, f"{each!r} is not ADDRESS:PORT", field="private_addresses")
    if read.upstream_ca:
        ca = path.parent / Path(read.upstream_ca).expanduser()
    else:
        ca = Path(os.environ.get(_HOST_CA, ""))
    return ProxyConfig(
        upstream_ca=ca.absolute() if ca.name else None,
        hosts=read.hosts,
        private_addresses=tuple(read.private_addresses),
    )


def _is_address(text: str) -> bool:
    """Whether it is an IP address as the system writes it, a colon and a port."""
    host, _, port = text.rpartition(":")
    try:
        return str(ipaddress.ip_address(host)) == host and 0 < int(port) < 65536
    except ValueError:
        return False
