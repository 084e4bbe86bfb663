"""What work on many candidates tells while it goes on; override what is wanted."""

from __future__ import annotations


class Progress:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Something that takes a while has begun."""

    def begin(self, text: str, total: int, finished: int = 0) -> None:
        """There are so many of something to do, of which so many were done before."""

    def advance(self, text: str) -> None:
        """One more is done; ``text`` says how it came out."""


SILENT = Progress()
