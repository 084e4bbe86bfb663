"""Operators for Python."""
