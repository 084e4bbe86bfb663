"""Regular expressions of a trusted recording on text that cannot be trusted.

A pattern may be such that a text made for it takes ages, and Python's search cannot be stopped. So
one that repeats anything, or leaves a choice, is tried in a process of its own, with a limit of
time past which it does not match; others take time in proportion to the text.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import lru_cache
from typing import Any

TIME_SEC = 1.0
MAX_TEXT = 70_000
_CHOOSES = re.compile(r"[*+{?|]")
_PROGRAM = """
import json, re, sys
pattern, text, flags = json.load(sys.stdin)
kind = (lambda part: part.encode("latin-1")) if flags < 0 else str
found = re.search(kind(pattern), kind(text), abs(flags) - (flags < 0))
sys.exit(10 if found else 11)
"""


@lru_cache(maxsize=1024)
def found(pattern: str | bytes, flags: int, text: str | bytes) -> bool:
    """Whether ``re.search`` finds it, in bounded time; of two kinds of text, never.

    Args:
        pattern: Trusted.
        flags: Of ``re``.
        text: Untrusted.
    """
    if type(pattern) is not type(text) or len(text) > MAX_TEXT:
        return False
    plain = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    try:
        if not _CHOOSES.search(plain):
            compiled: re.Pattern[Any] = re.compile(pattern, flags & ~re.DEBUG)
            return compiled.search(text) is not None
    except (re.error, ValueError, OverflowError, RecursionError, Warning):
        return False
    return _apart(plain, text, flags & ~re.DEBUG)


def _apart(pattern: str, text: str | bytes, flags: int) -> bool:
    """In a process of its own."""
    is_bytes = isinstance(text, bytes)
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    request = json.dumps([pattern, plain, -flags - 1 if is_bytes else flags])
    argv = [sys.executable, "-I", "-S", "-c", _PROGRAM]
    try:
        done = subprocess.run(
            argv, input=request.encode(), capture_output=True, check=False, timeout=TIME_SEC
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 10
