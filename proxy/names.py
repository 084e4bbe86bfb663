"""Names and paths, each in the one way to write it. Pure; the standard library only."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
#: What no client escapes, as nothing else is meant by it. (`~` is escaped by some.)
_NEEDLESS = re.compile(r"[A-Za-z0-9._-]")


class NameRefusedError(ValueError):
    """What was given is no full domain name."""


def normalise(name: str) -> str:
    """The one way to write a domain name: lower case, ASCII (IDNA), no dot at the end.

    Raises:
        NameRefusedError: It is no full domain name: empty, an IP address in any notation, a single
            label, or with characters that names do not have.
    """
    if not name or len(name) > 254:
        raise NameRefusedError("the name is empty" if not name else "the name is too long")
    try:
        ascii_name = name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise NameRefusedError(f"{name!r} is no name that IDNA can write") from error
    plain = ascii_name.lower().removesuffix(".")
    labels = plain.split(".")
    if len(plain) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise NameRefusedError(f"{name!r} is no domain name (a name only: no scheme, port or path)")
    if _NUMBER.fullmatch(labels[-1]):
        raise NameRefusedError(f"{name!r} is an IP address; only names can be allowed")
    if len(labels) < 2:
        raise NameRefusedError(f"{name!r} is a single label or a top-level domain, not a full name")
    return plain


def canonical_path(path: str) -> str:
    """A path as globs see it: decoded, but for encoded slashes (``%2F``) and what is not ASCII.

    Raises:
        ValueError: It can be read in more than one way: dot segments, empty ones, a doubled
            encoding, needless escapes, escapes that are not UTF-8, control characters, backslashes.
    """
    if not path.startswith("/") or not all("!" <= char <= "~" for char in path):
        raise ValueError("the path does not begin with / or has characters that paths do not have")

    def decoded(match: re.Match[str]) -> str:
        code = int(match[1] or "25", 16)
        if code < 0x20 or code in (0x25, 0x5C, 0x7F) or _NEEDLESS.fullmatch(chr(code)):
            raise ValueError(f"the path has {match[0]!r} in it, which can be read in two ways")
        return f"%{code:02X}" if code == 0x2F or code > 0x7F else chr(code)

    plain = _ESCAPE.sub(decoded, path)
    try:
        unquote_to_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise ValueError("the path has escapes that are not UTF-8") from error
    segments = [segment.split(";")[0] for segment in re.split(r"/|%2F", plain)[1:]]
    if "\\" in plain or "#" in path or any(s in (".", "..") for s in segments):
        raise ValueError("the path has dot segments, a backslash or a fragment")
    if "" in segments[:-1]:
        raise ValueError("the path has an empty segment")
    return plain


@lru_cache(maxsize=1024)
def glob(text: str) -> re.Pattern[str]:
    """What matches canonical paths: ``*`` is within a segment, ``**`` is anything."""
    parts = re.split(r"(\*\*|\*)", text)
    meaning = {"**": ".*", "*": "[^/%]*"}
    return re.compile("".join(meaning.get(part) or re.escape(part) for part in parts), re.DOTALL)
