"""Stable-Baselines3: repairs chosen from a list of edits, and a policy that points at one."""

from __future__ import annotations

from codegym.integrations.extras import require_extra


def require() -> None:
    """Raise ``UnavailableError`` where the extra ``sb3`` is not installed."""
    require_extra("sb3", "torch", "stable_baselines3", "sb3_contrib")
