"""``codegym train sb3``: Stable-Baselines3 on edits to choose from."""

from __future__ import annotations


def sb3() -> None:
    """Train an algorithm of Stable-Baselines3 to choose edits; every reward is a real grade."""
    from codegym.integrations.sb3 import require

    require()
