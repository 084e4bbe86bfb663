"""Serving to other hosts: ``codegym serve sandbox``."""
