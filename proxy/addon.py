"""What mitmproxy asks of us, for one connection out of a sandbox: each answer is a verdict.

Nothing here needs to be complete to be safe. A hook that raises ends the connection
(``bridge.py``), a hook that is not here counts as one that raises, no layer but TLS and HTTP is
ever chosen, and no connection goes out before a request was allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from mitmproxy import http, tls
from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy import layer, layers
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from .account import Account
from .headers import ENDS_HERE, kept_options
from .names import normalise
from .rules import (
    BODILESS,
    Facts,
    Verdict,
    decide,
    decide_tls,
    decide_tunnel,
)

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
#: A body that is announced as larger is not waited for when its request is denied.
_SMALL_BODY_BYTES = 65536


class Addon:
    """The hooks of one client's connection.

    Args:
        account: The episode's, which is known from the socket that the connection came in by.
        abort: Ends the connection at once.
    """

    def __init__(self, account: Account, abort: Callable[[], None]) -> None:
        self._account, self._abort = account, abort
        self._tunnel: tuple[str, int] | None = None
        self._upstream: set[tuple[str, int]] = set()
        self._judged = False

    # Before anything can be asked -----------------------------------------------------------

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """CONNECT: remember the name that all else has to be."""
        host, port = flow.request.host, flow.request.port
        self._account.spent.requests += 1
        verdict = decide_tunnel(self._account.policy, host, port, self._account.spent)
        if self._tunnel is not None:
            verdict = Verdict(False, "", "a tunnel was opened in this connection before")
        self._note("connect", verdict, host=host, port=port)
        if not verdict.allowed:
            flow.response = _denial(verdict)
            return
        self._tunnel = normalise(host), port
        flow.request.host = self._tunnel[0]

    def next_layer(self, waiting: layer.NextLayer) -> None:
        """Choose what is spoken: a proxy's HTTP, TLS in a tunnel, HTTP in TLS; nothing else."""
        context, last = waiting.context, waiting.context.layers[-1]
        if len(context.layers) == 1:
            waiting.layer = layers.HttpLayer(context, HTTPMode.regular)
        elif isinstance(last, layers.ClientTLSLayer):
            waiting.layer = layers.HttpLayer(context, HTTPMode.transparent)
        elif isinstance(last, HttpStream) and self._tunnel and not context.client.tls:
            said = waiting.data_client()
            if len(said) < 3:
                return  # not enough to tell
            if not starts_like_tls_record(said):
                self._refuse_tunnel("what is spoken in the tunnel is not TLS")
                return
            server = layers.ServerTLSLayer(context)
            server.child_layer = layers.ClientTLSLayer(context)
            waiting.layer = server
        else:
            self._refuse_tunnel(f"no protocol may follow {last.__class__.__name__}")

    def tls_start_client(self, start: tls.TlsData) -> None:
        """TLS from the client; without an answer there is no handshake."""
        account, sni = self._account, start.context.client.sni
        if self._tunnel is None:
            self._refuse_tunnel("TLS outside of a tunnel")
            return
        host, port = self._tunnel
        verdict = decide_tls(account.policy, host, port, sni, account.spent)
        if not verdict.allowed:
            self._note("tls", verdict, sni=sni)
            return
        account.tls.tls_start_client(start)

    # A request ------------------------------------------------------------------------------

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """The verdict, before a body is read or anyone is connected to."""
        request = flow.request
        self._account.spent.requests += 1
        verdict = self._verdict(flow)
        flow.metadata["verdict"] = verdict
        self._note("request", verdict, method=_method(request), target=request.path)
        if flow.error:
            return  # mitmproxy itself refuses it
        if not verdict.allowed:
            _refuse(flow, verdict)
            return
        _end_here(request)
        if self._account.policy.rule(verdict.rule).as_of:
            # From here on its origin is one in this process, which asks upstream by itself.
            address = self._account.indexes[verdict.rule].address
            request.scheme, (request.host, request.port) = "http", address
        self._upstream.add((request.host, request.port))
        request.stream = request.method not in BODILESS

    def _verdict(self, flow: http.HTTPFlow) -> Verdict:
        request, sni = flow.request, flow.client_conn.sni
        if flow.error:
            return Verdict(False, "", flow.error.msg)
        if self._tunnel is None or request.scheme != "https":
            return Verdict(False, "", "only https through a tunnel (CONNECT) is let through")
        if (request.host, request.port) != self._tunnel:
            return Verdict(False, "", "the request would go elsewhere than its tunnel")
        return decide(self._account.policy, _facts(request, self._tunnel, sni), self._account.spent)

    def request(self, flow: http.HTTPFlow) -> None:
        """All of a request is here. One without a body still has none."""
        smuggled = flow.request.trailers is not None
        smuggled |= flow.request.method in BODILESS and bool(flow.request.raw_content)
        if smuggled and flow.metadata["verdict"].allowed:
            verdict = Verdict(False, "", f"{flow.request.method} with a body or trailers")
            self._note("request", verdict, method=flow.request.method)
            flow.metadata["verdict"] = verdict
            flow.request.trailers = None
            self._upstream.clear()
            if flow.request.stream:
                flow.kill()
            else:
                flow.response = _denial(verdict)

    # Where it goes --------------------------------------------------------------------------

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Only to where an allowed request goes, only by TLS."""
        server = data.server
        inner = server.address in [each.address for each in self._account.indexes.values()]
        expected = server.address in self._upstream and server.tls != inner
        if not expected or server.via or server.transport_protocol != "tcp":
            server.error = "denied: no request was allowed to go there"

    def server_connect_error(self, data: ServerConnectionHookData) -> None:
        """It could not be reached, or may not be."""
        self._note("upstream", Verdict(False, "", f"no connection: {data.server.error}"))

    def tls_start_server(self, start: tls.TlsData) -> None:
        """TLS to the origin, whose certificate has to be of the tunnel's name."""
        if start.conn.address in self._upstream:
            start.conn.sni = start.conn.address[0]
            self._account.tls.tls_start_server(start)

    # The answer -----------------------------------------------------------------------------

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Let an answer through as it comes; count it."""
        response, limits = flow.response, self._account.policy.limits
        if not flow.metadata["verdict"].allowed or response is None:
            return
        size = 0 if flow.request.method == "HEAD" else _announced(response)
        if response.status_code == 101 or size > limits.max_response_bytes:
            why = "the origin switches protocols" if response.status_code == 101 else "too large"
            self._note("response", Verdict(False, "", why), bytes=size)
            flow.kill()
            return
        response.stream = self._counting(flow)

    def _counting(self, flow: http.HTTPFlow) -> Callable[[bytes], Iterable[bytes] | bytes]:
        spent, limits = self._account.spent, self._account.policy.limits
        flow.metadata["bytes"] = 0

        def count(chunk: bytes) -> Iterable[bytes] | bytes:
            flow.metadata["bytes"] += len(chunk)
            spent.downloaded += len(chunk)
            size, total = flow.metadata["bytes"], spent.downloaded
            if size <= limits.max_response_bytes and total <= limits.max_download_bytes:
                return chunk
            verdict = Verdict(False, "", "more bytes than a response, or the episode, may have")
            self._note("response", verdict, bytes=size)
            self._abort()
            return []

        return count

    def response(self, flow: http.HTTPFlow) -> None:
        """An answer is through."""
        verdict, response = flow.metadata["verdict"], flow.response
        if verdict.allowed and response is not None:
            size = flow.metadata.get("bytes", len(response.raw_content or b""))
            self._note("end", verdict, status=response.status_code, bytes=size)

    def error(self, flow: http.HTTPFlow) -> None:
        """A request came to nothing."""
        verdict = flow.metadata.get("verdict")
        if verdict and verdict.allowed and flow.error:
            self._note("end", verdict, error=flow.error.msg)

    def client_disconnected(self, _: object) -> None:
        """What mitmproxy itself did not understand, and so never asked about, is in the log too."""
        if not self._judged and self._account.journal.is_open:
            why = "it ended before any request was understood"
            self._note("connection", Verdict(False, "", why))

    def _refuse_tunnel(self, why: str) -> None:
        self._note("tunnel", Verdict(False, "", why))
        self._abort()

    def _note(self, event: str, verdict: Verdict, **details: str | int | None) -> None:
        """Write down a verdict, where the connection's tunnel leads to, and what else is known."""
        host, port = self._tunnel or ("", 0)
        self._judged |= event == "request" or not verdict.allowed
        where: dict[str, str | int | None] = {"host": host, "port": port}
        self._account.journal.note(event, verdict, **(where | details))


def _facts(request: http.Request, tunnel: tuple[str, int], sni: str | None) -> Facts:
    headers = request.headers
    return Facts(
        connect=tunnel[0],
        port=tunnel[1],
        sni=sni,
        hosts=tuple(headers.get_all("host")),
        method=_method(request),
        target=request.path,
        authority=request.authority,
        http2=request.is_http2,
        header_bytes=sum(len(name) + len(value) for name, value in headers.fields),
        has_body=_announced(request) > 0,
        upgrade="upgrade" in headers,
        odd_headers=_is_odd(request),
        headers=tuple((name.lower(), value) for name, value in headers.items(multi=True)),
    )


def _method(request: http.Request) -> str:
    """The method as it was sent, and will be; mitmproxy's own ``method`` is in capitals."""
    return request.data.method.decode("ascii", "backslashreplace")


def _end_here(request: http.Request) -> None:
    """Take away what is about the client's connection to us."""
    options = kept_options(",".join(request.headers.get_all("connection")))
    for name in ENDS_HERE | {"connection"}:
        request.headers.pop(name, None)
    if options:
        request.headers["connection"] = options


def _is_odd(request: http.Request) -> bool:
    """Whether a server could find another request's beginning in this one than we do."""
    names = [name.lower() for name, _ in request.headers.fields]
    framing = names.count(b"content-length") + names.count(b"transfer-encoding")
    if framing > 1 or (request.is_http2 and b"transfer-encoding" in names):
        return True
    controls = any({0, 10, 13}.intersection(value) for _, value in request.headers.fields)
    return controls or not all(map(_TOKEN.fullmatch, names))


def _announced(message: http.Message) -> int:
    """The size that a message says its body has; very large if it says only that there is one."""
    if "transfer-encoding" in message.headers and isinstance(message, http.Request):
        return 1 << 62
    length = message.headers.get("content-length", "0")
    return int(length) if re.fullmatch("[0-9]{1,17}", length) else 1 << 62


def _refuse(flow: http.HTTPFlow, verdict: Verdict) -> None:
    if _announced(flow.request) > _SMALL_BODY_BYTES:
        flow.kill()
    else:
        flow.response = _denial(verdict)


def _denial(verdict: Verdict) -> http.Response:
    text = f"denied by the egress policy: {verdict.reason}\n"
    return http.Response.make(403, text.encode(), {"Content-Type": "text/plain; charset=utf-8"})
