"""Runs suites of node's own test runner (``node:test``), with node 18.15 and later.

Each file has a process of its own. Its results count where they came to an end, its exit status
agrees with them, and no two have one name: code that ends the process early passes nothing. But
the test runner, ``assert`` and the reporter share that process with the code under test, which can
change all of them and then say anything. So the assurance is ``report_only``.
"""

from __future__ import annotations

from codegym.grading.runners.switched import SwitchedRunner


class NodeRunner(SwitchedRunner):
    """The runner named ``node``; works with node 18.15 and later."""

    name = "node"
    extra = ("reporter.mjs",)
