r"""Git's quoting of unusual paths in diffs: ``"b/caf\303\251"``."""

from __future__ import annotations

import re

_ESCAPES = {
    "a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92,
}  # fmt: skip
_LETTERS = {value: letter for letter, value in _ESCAPES.items()}
_TOKEN = re.compile(r'\\([abtnvfr"\\])|\\([0-3][0-7]{2})|([^\\"]+)', re.DOTALL)


def quote(path: str) -> str:
    """Write a path as git does: in quotes, with escapes, only where it must be."""
    data = path.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in data):
        return path
    parts = [
        f"\\{_LETTERS[byte]}"
        if byte in _LETTERS
        else chr(byte)
        if 32 <= byte < 127
        else f"\\{byte:03o}"
        for byte in data
    ]
    return f'"{"".join(parts)}"'


def unquote(text: str) -> tuple[str, str] | None:
    """Read a quoted path at the start of ``text``; return it and the rest, or None if malformed."""
    data, at = bytearray(), 1
    while at < len(text) and text[at] != '"':
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        letter, octal, plain = token.groups()
        if letter:
            data.append(_ESCAPES[letter])
        elif octal:
            data.append(int(octal, 8))
        else:
            data += plain.encode("utf-8", "surrogateescape")
        at = token.end()
    if at >= len(text):
        return None
    return data.decode("utf-8", "surrogateescape"), text[at + 1 :]
