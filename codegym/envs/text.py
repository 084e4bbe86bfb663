"""Text that fits: what a policy reads is bounded, and says where it was cut."""

from __future__ import annotations


def cut_middle(text: str, max_chars: int, omitted: str = "") -> str:
    """Keep a text's start and end.

    Args:
        text: Any text.
        max_chars: Upper bound of the result's length, > 0.
        omitted: What to add to the notice.

    Returns:
        ``text`` where it fits; else its two ends around a line that says how much is missing.
    """
    if len(text) <= max_chars:
        return text
    notice = f"\n[… {len(text) - max_chars} or more characters cut out here{omitted} …]\n"
    room = max_chars - len(notice)
    if room < 2:
        return text[:max_chars]
    head = room // 2
    return text[:head] + notice + text[len(text) - (room - head) :]


def decode(data: bytes) -> str:
    """Read a program's output as text; what is no UTF-8 shows as U+FFFD, and NUL as U+2400."""
    return data.decode("utf-8", errors="replace").replace("\0", "\u2400")
