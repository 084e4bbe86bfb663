"""What every backend must do: checks that run against any of them.

A check is a coroutine function of a backend and a spec whose image has bash, coreutils and Python
and whose workspace layer was filled by ``workspace``. It raises ``ConformanceError`` where the
backend falls short. Checks open and never write what belongs to the host, and kill only what they
started.
"""

from codegym.sandbox.conformance import egress, files, isolation, limits, shells
from codegym.sandbox.conformance.check import CHECKS, Check, ConformanceError, workspace

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "egress",
    "files",
    "isolation",
    "limits",
    "shells",
    "workspace",
]
