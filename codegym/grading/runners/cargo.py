"""Runs Rust's tests: built once by cargo, then listed, then each in a process of its own.

What ``cargo test`` says as JSON is unstable, so a test passes where its process prints exactly the
lines of one passed test last *and* exits with status 0. Code under test shares that process and can
print those lines, so the assurance is ``report_only``. What does not compile fails all tests.
Documentation's tests are not run.
"""

from __future__ import annotations

from codegym.grading.runners.switched import SwitchedRunner


class CargoRunner(SwitchedRunner):
    """The runner named ``cargo``; works with cargo 1.60 and later."""

    name = "cargo"
    apart = True
