"""Environments from a package index. Nothing of a package runs outside a sandbox."""

from codegym.authoring.packages.adding import Added, add_environment

__all__ = ["Added", "add_environment"]
