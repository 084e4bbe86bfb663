"""Sandboxes on another host: the client's side of ``codegym serve sandbox``."""

from codegym.sandbox.remote.backend import Remote

__all__ = ["Remote"]
