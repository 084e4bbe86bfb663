"""Runs Go's tests with ``go test -json``, one package after the other.

What it reports is made from what the test's process prints, which the code under test shares, so
the assurance is ``report_only``. A package that fails where none of its tests did passes nothing.
"""

from __future__ import annotations

from codegym.grading.runners.programs import ProgramRunner


class GoRunner(ProgramRunner):
    """The runner named ``go``; works with Go 1.16 and later."""

    name = "go"
