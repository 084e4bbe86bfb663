"""What an endpoint's answer means: try again, send less, send something else, or give up."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Literal

from codegym.envs.text import harmless

Meaning = Literal["again", "too_long", "no_tools", "other_limit", "key", "missing", "refused"]

MAX_WAIT_SEC = 300.0
_AGAIN = frozenset({408, 409, 425, 429})
_TOO_LONG = (
    "context_length", "context length", "maximum context", "context window", "too many tokens",
    "prompt is too long", "input is too long", "reduce the length", "exceeds the available context",
    "longer than the maximum model length", "exceed_context_size",
)  # fmt: skip
_NO_TOOLS = ("tool", "function call", "functions")


def meaning_of(status: int, said: str) -> Meaning:
    """Read a status other than 200 and what came with it."""
    words = said.lower()
    if status in (400, 413, 422, 500) and any(mark in words for mark in _TOO_LONG):
        return "too_long"
    # A quota that is used up answers as a rate limit does; waiting does not mend it.
    if status == 429 and "insufficient_quota" in words:
        return "refused"
    about_tools = any(mark in words for mark in _NO_TOOLS)
    # Some answer 500 to what they were not started for; any other one may pass.
    settled = about_tools and any(mark in words for mark in ("support", "require"))
    if status in _AGAIN or (status >= 500 and not settled):
        return "again"
    if status in (401, 403):
        return "key"
    if status == 404 and not about_tools:
        return "missing"
    if "max_completion_tokens" in words:
        return "other_limit"
    return "no_tools" if about_tools else "refused"


def message_of(body: bytes, secret: str) -> str:
    """What an endpoint says of an error, short, harmless to a terminal, and without the key."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    shown = value if isinstance(value, str) else text
    if secret:
        shown = shown.replace(secret, "[key]")
    shown = " ".join(harmless(shown).split())
    return shown if len(shown) <= 300 else shown[:300] + "…"


def wait_of(headers: Mapping[str, str]) -> float | None:
    """Seconds that an endpoint asks to wait, bounded; None where it does not say."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(given).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), MAX_WAIT_SEC)
