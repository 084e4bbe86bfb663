"""The order of versions, as far as "which is the latest?" needs it. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_RELEASE = re.compile(
    r"v?(?:(\d{1,9})!)?(\d{1,18}(?:\.\d{1,18})*)"
    r"(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d{0,18}))?"
    r"(?:[-_.]?(?:post|rev|r)[-_.]?(\d{0,18})|-(\d{1,18}))?"
    r"(?:[-_.]?dev[-_.]?(\d{0,18}))?(?:\+.*)?",
    re.IGNORECASE,
)
_SEMANTIC = re.compile(
    r"(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})"
    r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1}


class ReleaseKey(NamedTuple):
    """Sorts versions of Python packages; ``final`` is false for what is not chosen by itself."""

    epoch: int
    release: tuple[int, ...]
    stage: tuple[int, int, int, int]
    text: str
    final: bool


def release_key(version: str) -> ReleaseKey:
    """A key that sorts versions of Python packages; one that cannot be read is before all."""
    found = _RELEASE.fullmatch(version)
    if not found:
        return ReleaseKey(-1, (), (0, 0, 0, 0), version, False)
    epoch, numbers, stage, number, post, other, dev = found.groups()
    release = tuple(int(each) for each in numbers.split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    pre = (
        _STAGES.get(stage.lower(), 2) if stage else (-1 if dev is not None and post is None else 3)
    )
    after = -1 if post is None and other is None else int(post or other or 0)
    last = 1 << 62 if dev is None else int(dev or 0)
    final = stage is None and dev is None
    return ReleaseKey(
        int(epoch or 0), release, (pre, int(number or 0), after, last), version, final
    )


SemanticKey = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


def semantic_key(version: str) -> SemanticKey | None:
    """A key that sorts semantic versions; its fourth is whether it is a final one."""
    found = _SEMANTIC.fullmatch(version)
    if not found:
        return None
    parts = (found[4] or "").split(".")
    pre = tuple((not each.isdigit(), int(each) if each.isdigit() else 0, each) for each in parts)
    return int(found[1]), int(found[2]), int(found[3]), found[4] is None, pre
