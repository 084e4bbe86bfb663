"""TLS on both sides: the episode's own certificates inside, verified ones outside."""

from __future__ import annotations

from types import SimpleNamespace

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.certs import CertStoreEntry
from mitmproxy.options import Options
from mitmproxy.proxy.context import Context

from .authority import Authority
from .names import normalise

#: What mitmproxy may not do, whatever a later version's defaults are.
_STRICT = {
    "connection_strategy": "lazy",
    "rawtcp": False,
    "websocket": False,
    "http3": False,
    "upstream_cert": False,
    "ssl_insecure": False,
    "store_streamed_bodies": False,
    "validate_inbound_headers": True,
    "add_upstream_certs_to_client_chain": False,
}


class EpisodeTls(TlsConfig):  # type: ignore[misc]
    """mitmproxy's own TLS settings, with certificates of one episode's authority."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.certstore = SimpleNamespace(dhparams=None)  # elliptic curves only

    def get_cert(self, conn_context: Context) -> CertStoreEntry:
        """The certificate that the client is shown; its name was checked before."""
        return self.authority.entry(normalise(conn_context.client.sni or ""))


def strict_options(upstream_ca: str | None) -> Options:
    """Mitmproxy's options for all connections.

    Args:
        upstream_ca: PEM file of the authorities that origins are verified by; None for the usual.
    """
    options = Options()
    loader = Loader(SimpleNamespace(options=options))
    Proxyserver().load(loader)
    TlsConfig().load(loader)
    known = {name: value for name, value in _STRICT.items() if name in options}
    options.update(**known, ssl_verify_upstream_trusted_ca=upstream_ca)
    ctx.options = options
    return options
