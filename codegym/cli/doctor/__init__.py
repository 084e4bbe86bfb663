"""``codegym doctor``: what this machine has, what it lacks, and how to mend it."""

from codegym.cli.doctor.command import doctor

__all__ = ["doctor"]
