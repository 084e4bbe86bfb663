"""The egress proxy: a program of its own, which imports nothing from ``codegym``."""
