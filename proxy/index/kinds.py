"""What the indexes of all clients have in common. Pure; the standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from urllib.parse import urljoin, urlsplit

from ..names import normalise

_HEX = re.compile(r"[0-9a-f]+")
_BITS = {"sha256": 64, "sha384": 96, "sha512": 128}


@dataclass(frozen=True, slots=True)
class Ask:
    """What a path asks for.

    Attributes:
        project: Its name, in the one way that the index writes it.
        what: A page of all files, the older JSON description, or a file.
        detail: The description's version, or which file: a key of ``Listing.sources``.
    """

    project: str
    what: Literal["page", "description", "file"] = "page"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file comes from, and what it has to be.

    Attributes:
        url: The address that the upstream index gave.
        digest: ``ALGORITHM-HEX`` of its bytes.
    """

    url: str
    digest: str


class Listing(Protocol):
    """A project as it was: the one model that every form of answer is made from."""

    def sources(self) -> Mapping[str, Source]:
        """The files that are there, by the ``detail`` of an ``Ask``."""

    def answer(self, ask: Ask, accept: str, origin: str, root: str) -> tuple[str, str] | None:
        """Media type and text of a page or description; None if there is none of that version.

        Args:
            ask: Which.
            accept: What the client accepts, as in the header.
            origin: ``https://HOST[:PORT]`` of the index, as the client sees it.
            root: The path at which it is there, without a slash at the end.
        """

    def dump(self) -> dict[str, Any]:
        """What ``Kind.load`` makes the same listing of."""


class Kind(Protocol):
    """What one kind of client speaks to its index."""

    #: Media type that upstream is asked for.
    accept: str

    def ask(self, root: str, path: str) -> Ask | None:
        """What a canonical path asks for; None if it is nothing that is answered."""

    def address(self, root: str, project: str) -> str:
        """The path of a project's document at the upstream index."""

    def listing(self, document: Any, project: str, base: str, cutoff: datetime) -> Listing | None:
        """What is left of a document; None if it is not this project's.

        Args:
            document: Upstream's JSON, of which nothing is believed.
            project: The name that was asked for.
            base: The document's address, for links that are relative.
            cutoff: Files of this moment or later are absent, and so are those without a time.
        """

    def load(self, dumped: dict[str, Any]) -> Listing:
        """The listing that was dumped."""


def same_name(project: str) -> str:
    """Names that are equal to a person, or to an index, are equal here."""
    return re.sub(r"[-_.]+", "-", project).lower()


def moment(text: object) -> datetime | None:
    """A point in time, if that is what a text says: with a date, a time and its zone."""
    if not isinstance(text, str) or "T" not in text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def is_before(text: object, cutoff: datetime) -> bool:
    """Whether a text is a time before a cutoff; what is no time is not."""
    found = moment(text)
    return found is not None and found < cutoff


def digest(algorithm: str, hexadecimal: object) -> str | None:
    """``ALGORITHM-HEX``, if it is a digest that nothing else has."""
    if not isinstance(hexadecimal, str) or _BITS.get(algorithm) != len(hexadecimal):
        return None
    return f"{algorithm}-{hexadecimal}" if _HEX.fullmatch(hexadecimal) else None


def fetchable(base: str, link: object) -> str | None:
    """The address that a document's link leads to, if it is https, of a full name, and plain."""
    try:
        url = urljoin(base, str(link).partition("#")[0])
        parts = urlsplit(url)
        normalise(parts.hostname or "")
        plain = parts.scheme == "https" and parts.username is None and parts.port != 0
    except ValueError:
        return None
    return url if plain and all("!" <= char <= "~" for char in url) else None
