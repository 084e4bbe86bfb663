"""Text that fits: what a policy reads is bounded, and says where it was cut."""

from __future__ import annotations

#: Control characters shown as pictures (ESC as U+241B), marks that reorder what is seen as U+FFFD.
_HARMLESS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_HARMLESS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_HARMLESS |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD)


def harmless(text: str) -> str:
    """Untrusted text for a terminal, which it must not steer; line ends as newlines."""
    return text.replace("\r\n", "\n").translate(_HARMLESS)


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
