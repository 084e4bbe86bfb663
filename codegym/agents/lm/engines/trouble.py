"""What went wrong in a forward pass, for those who wait for its tokens."""

from __future__ import annotations

import torch

from codegym.errors import CodeGymError, UnavailableError


def is_memory(error: Exception) -> bool:
    """Whether there was too little memory."""
    if isinstance(error, CodeGymError):
        return False
    return isinstance(error, torch.OutOfMemoryError) or "alloc" in str(error).lower()


def first_line(error: BaseException) -> str:
    """What it says, in a line."""
    return " ".join(str(error).split())[:200]


def told(error: BaseException) -> CodeGymError:
    """The error as users are told of it."""
    if isinstance(error, CodeGymError):
        return error
    made = UnavailableError(
        f"generation failed: {type(error).__name__}: {first_line(error)}",
        "Set CODEGYM_TRACEBACK=1 to see where",
    )
    made.__cause__ = error
    return made
