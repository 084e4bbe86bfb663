"""Runs programs that print the Test Anything Protocol, as tests in C do.

A program's results count where its plan was kept, its numbers are 1 to the last, each once, and
its exit status agrees with them (0 only where all passed). The program prints what it wants, so the
assurance is ``report_only``.
"""

from __future__ import annotations

from codegym.grading.runners.switched import SwitchedRunner


class TapRunner(SwitchedRunner):
    """The runner named ``tap``; reads TAP 12 to 14."""

    name = "tap"
