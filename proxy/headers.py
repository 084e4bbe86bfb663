"""Headers that an origin could be misled by, and those that end here. Pure; standard library only.

A rule judges the method, host and path that a request has in its first line and in ``Host``. Some
frameworks believe a header instead, and some servers read ``X_Y`` as ``X-Y``; so such headers are
refused, however they are written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: A header's name, in lower case, and its value.
Header = tuple[str, str]
#: About the connection to us, which ordinary clients say: nobody else's affair.
ENDS_HERE = frozenset(("proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer"))
#: What `Connection` may say. It can name headers, which whoever reads it next takes away.
_KEPT_OPTIONS = frozenset(("close", "keep-alive"))
_OPTIONS = _KEPT_OPTIONS | ENDS_HERE | {""}
_FRAMING = ("content-length", "transfer-encoding")
#: Where another method, host, scheme, address of the client or path may be said.
_OVERRIDES = re.compile(
    r"(.*-)?(override|overwrite)|forwarded|front-end-https|proxy|"
    r"(http-|request-|base-|redirect-)?ur[il]|"
    r"x-(forwarded|original|rewrite|rewritten|override|envoy|waws|arr|ms-original|http|method|host|"
    r"scheme|port|path|prefix|script-name|request-ur[il]|ur[il]|proxy|real-ip)(-.*)?"
)
_ODD = re.compile("[^a-z0-9-]")


def misleading(headers: Sequence[Header]) -> str:
    """Why an origin could take a request with these headers for another one; ``""`` if none."""
    for name, value in headers:
        plain = _ODD.sub("-", name)  # as servers do that make variables of headers
        if _OVERRIDES.fullmatch(plain) or (plain != name and plain in _FRAMING):
            return f"the header {name[:100]!r} can say another method, host or path"
        if name == "connection":
            for option in _options(value):
                if option not in _OPTIONS:
                    return f"Connection names {option[:100]!r}, which would be taken away"
    return ""


def kept_options(value: str) -> str:
    """Of what ``Connection`` says, that which is about the connection itself."""
    return ", ".join(each for each in _options(value) if each in _KEPT_OPTIONS)


def _options(value: str) -> list[str]:
    return [each.strip(" \t").lower() for each in value.split(",")]
