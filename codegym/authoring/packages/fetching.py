"""Reading from an index by HTTP(S) or ``file:``: bounded, with pip's settings."""

from __future__ import annotations

import base64
import contextlib
import importlib
import ssl
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from codegym.errors import UnavailableError
from codegym.network.pip_settings import IndexSettings
from codegym.version import __version__

_TIMEOUT_SEC = 60.0
_MEND = "Check the network and pip's index (`pip config list`), then try again"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page or file: its bytes, its media type, and the address it was found at in the end."""

    data: bytes
    media_type: str
    address: str


class Fetcher:
    """Fetches what an index serves.

    Args:
        settings: Certificates and proxy.
    """

    def __init__(self, settings: IndexSettings) -> None:
        context = _context(settings.cert)
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
        if settings.proxy:
            proxies = {"http": settings.proxy, "https": settings.proxy}
            handlers.append(urllib.request.ProxyHandler(proxies))
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, address: str, *, max_bytes: int, accept: str = "*/*") -> Fetched | None:
        """Fetch one address; None where there is nothing.

        Raises:
            UnavailableError: It cannot be reached, or is larger than ``max_bytes``.
        """
        plain, credentials = without_credentials(address)
        headers = {"Accept": accept, "User-Agent": f"codegym/{__version__}"}
        request = urllib.request.Request(plain, headers=headers)
        if credentials:
            # Not sent on where the index redirects elsewhere.
            request.add_unredirected_header("Authorization", f"Basic {credentials}")
        try:
            with contextlib.closing(self._opener.open(request, timeout=_TIMEOUT_SEC)) as answer:
                data = answer.read(max_bytes + 1)
                media_type = answer.headers.get_content_type()
                found_at = answer.geturl()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (404, 410):
                return None
            raise UnavailableError(f"{plain} answered {error.code}", _MEND) from error
        except (OSError, ValueError) as error:
            if isinstance(getattr(error, "reason", None), FileNotFoundError):
                return None
            raise UnavailableError(f"{plain} cannot be reached: {error}", _MEND) from error
        if len(data) > max_bytes:
            raise UnavailableError(
                f"{plain} is larger than {max_bytes // 1024**2} MiB", "Use a smaller package"
            )
        return Fetched(data, media_type, found_at)


def without_credentials(address: str) -> tuple[str, str]:
    """An address as it may be shown, and its user and password in the form HTTP takes."""
    parts = urllib.parse.urlsplit(address)
    if "@" not in parts.netloc:
        return address, ""
    user, _, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    pair = f"{urllib.parse.unquote(name)}:{urllib.parse.unquote(password)}"
    return parts._replace(netloc=host).geturl(), base64.b64encode(pair.encode()).decode()


def _context(cert: str) -> ssl.SSLContext:
    """Certificates as pip trusts them: the named ones, or the system's and those pip brings."""
    if cert:
        try:
            return ssl.create_default_context(cafile=cert)
        except OSError as error:
            raise UnavailableError(
                f"pip's certificates cannot be read from {cert}: {error}", "Set PIP_CERT anew"
            ) from error
    context = ssl.create_default_context()
    with contextlib.suppress(ImportError, OSError, AttributeError):
        context.load_verify_locations(importlib.import_module("pip._vendor.certifi").where())
    return context
