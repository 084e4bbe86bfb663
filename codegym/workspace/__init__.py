"""Workspaces: fresh trees with a one-commit ``.git``, what attests them, and the way back."""
