"""Environments from packages, repositories and folders. Nothing runs outside a sandbox."""

from codegym.authoring.packages.adding import Added, add_environment
from codegym.authoring.packages.services import Declaration, read_declaration

__all__ = ["Added", "Declaration", "add_environment", "read_declaration"]
