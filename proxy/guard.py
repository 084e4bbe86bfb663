"""The last word on where a connection goes: the address itself, after the name was resolved."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping
from typing import Any

Serve = Callable[[socket.socket], None]
_TRANSLATED = ipaddress.ip_network("64:ff9b::/32")


class GuardedLoop(asyncio.SelectorEventLoop):
    """An event loop that connects to public addresses, and to what the operator named.

    What is checked is the very address that is connected to, so a name that resolves differently
    the second time gains nothing.

    Args:
        hosts: Addresses of names, which are then not looked up.
        private: ``ADDRESS:PORT`` of what may be connected to although it is not public.
    """

    def __init__(self, hosts: Mapping[str, str], private: frozenset[str]) -> None:
        super().__init__()
        self._hosts, self._private = dict(hosts), private
        #: Origins within this process, by names that no policy and no resolver can have.
        self.inner: dict[str, Serve] = {}

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Connect, by a pair of sockets if it is to an origin within this process."""
        serve = self.inner.get(host)
        if serve is None:
            return await super().create_connection(protocol_factory, host, port, **options)
        theirs, ours = socket.socketpair()
        ours.bind("")  # to a name that the system gives, as mitmproxy needs one
        serve(ours)
        return await super().create_connection(protocol_factory, sock=theirs)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Look a name up, first among the operator's."""
        return await super().getaddrinfo(self._hosts.get(host, host), port, **options)

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Connect. Raises ``PermissionError`` if the address is not one that may be reached."""
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            raise PermissionError("only TCP over IP goes out")
        host, port = address[:2]
        there = f"{host}:{port}"
        if not is_public(host) and there not in self._private:
            raise PermissionError(
                f"refused: {host} is not a public address; if it is meant to be reached, "
                f'have private_addresses = ["{there}"] in .codegym/proxy.toml'
            )
        await super().sock_connect(sock, address)


def is_public(address: str) -> bool:
    """Whether an address is on the public internet, and carries no other address within.

    Private, loopback, link-local, metadata, shared, multicast and reserved ones are not.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and (
        parsed.ipv4_mapped or parsed.sixtofour or parsed.teredo or parsed in _TRANSLATED
    ):
        return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
