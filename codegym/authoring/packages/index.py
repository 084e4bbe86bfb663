"""Finding a source distribution by name and version on a simple index, and fetching it by hash."""

from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from codegym.authoring.packages.fetching import Fetched, Fetcher, without_credentials
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.network.pip_settings import IndexSettings
from codegym.sandbox.images.lock import normalise

MAX_PAGE_BYTES = 64 * 1024**2
MAX_SDIST_BYTES = 64 * 1024**2
_SUFFIX = ".tar.gz"
_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_SPEC = re.compile(r"pypi:([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==([A-Za-z0-9.!+_-]+))?")
_RELEASE = re.compile(r"(\d+(?:\.\d+)*)(?:\.post(\d+))?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Requested:
    """A package by name and exact version, ``""`` for the newest. ``name`` is normalised."""

    name: str
    version: str

    @staticmethod
    def parse(spec: str) -> Requested:
        """Read ``pypi:NAME`` or ``pypi:NAME==VERSION``. Raises ``UsageError``."""
        found = _SPEC.fullmatch(spec)
        if found is None:
            raise UsageError(
                f"{spec!r} is no package: write pypi:NAME==VERSION, for example pypi:toolz==1.1.0"
            )
        return Requested(normalise(found[1]), found[2] or "")


@dataclass(frozen=True, slots=True)
class Sdist:
    """A source distribution as an index lists it."""

    filename: str
    address: str
    sha256: str


def find_sdist(requested: Requested, settings: IndexSettings, fetcher: Fetcher) -> Sdist:
    """Look for a source distribution on each index in turn.

    Raises:
        NotFoundError: No index has the package, or not in that version.
        UsageError: It has no source distribution that can be used.
        UnavailableError: An index cannot be reached.
    """
    versions: list[str] = []
    for index in settings.indexes:
        page = fetcher.get(_page(index, requested.name), max_bytes=MAX_PAGE_BYTES, accept=_ACCEPT)
        if page is None:
            continue
        found = {}
        for each in _files(page, index):
            name, version = _split(each.filename)
            if name == requested.name:
                found[version] = each
        newest = max(found, key=_age, default="")
        chosen = requested.version or (newest if _age(newest) else "")
        if chosen in found:
            return _usable(found[chosen])
        versions += found
    if versions:
        raise NotFoundError(
            f"source distribution ({_SUFFIX}) of {requested.name} in version",
            requested.version,
            versions,
            hint=f"there are {', '.join(versions[-8:])}",
        )
    raise NotFoundError(
        "package", requested.name, hint="looked in the indexes of `pip config list`"
    )


def fetch_sdist(sdist: Sdist, fetcher: Fetcher) -> bytes:
    """Fetch it and check its hash.

    Raises:
        DataError: What is served is something else than the index lists.
        UnavailableError: It cannot be reached.
    """
    shown = without_credentials(sdist.address)[0]
    found = fetcher.get(sdist.address, max_bytes=MAX_SDIST_BYTES)
    if found is None:
        raise DataError(shown, "is listed by the index and not there")
    digest = hashlib.sha256(found.data).hexdigest()
    if digest != sdist.sha256:
        raise DataError(shown, f"has the hash {digest}, and the index says {sdist.sha256}")
    return found.data


def _page(index: str, name: str) -> str:
    page = urllib.parse.urljoin(index, f"{name}/")
    return f"{page}index.html" if page.startswith("file:") else page


def _split(filename: str) -> tuple[str, str]:
    if not filename.endswith(_SUFFIX):
        return "", ""
    name, _, version = filename.removesuffix(_SUFFIX).rpartition("-")
    return normalise(name), version


def _age(version: str) -> tuple[tuple[int, ...], int] | tuple[()]:
    """What orders releases; nothing for those that are none (yet)."""
    found = _RELEASE.fullmatch(version)
    return (tuple(map(int, found[1].split("."))), int(found[2] or -1)) if found else ()


def _usable(sdist: Sdist) -> Sdist:
    if _SHA256.fullmatch(sdist.sha256) is None:
        raise UsageError(f"the index gives no sha256 of {sdist.filename}; it is not fetched")
    return sdist


def _files(page: Fetched, index: str) -> Iterator[Sdist]:
    """What a page lists, JSON or HTML, under addresses with the credentials of the index."""
    listed = _from_json(page) if page.media_type == _JSON else _from_html(page)
    home, credentials = urllib.parse.urlsplit(index), urllib.parse.urlsplit(index).netloc
    for filename, link, sha256 in listed:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(page.address, link))
        if parts.netloc == home.netloc.rpartition("@")[2]:
            parts = parts._replace(netloc=credentials)
        yield Sdist(filename, parts._replace(fragment="").geturl(), sha256)


def _from_json(page: Fetched) -> Iterator[tuple[str, str, str]]:
    try:
        files = json.loads(page.data)["files"]
        for each in files:
            hashes = each.get("hashes", {})
            yield str(each["filename"]), str(each["url"]), str(hashes.get("sha256", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(page.address, f"is no page of a simple index: {error!r}") from error


def _from_html(page: Fetched) -> Iterator[tuple[str, str, str]]:
    links = _Links()
    links.feed(page.data.decode(errors="replace"))
    for link in links.found:
        parts = urllib.parse.urlsplit(link)
        algorithm, _, value = parts.fragment.partition("=")
        filename = urllib.parse.unquote(parts.path.rpartition("/")[2])
        yield filename, link, value if algorithm == "sha256" else ""


class _Links(HTMLParser):
    """The addresses of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link."""
        address = dict(attrs).get("href")
        if tag == "a" and address:
            self.found.append(address)
