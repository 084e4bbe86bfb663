"""Making environments and tasks, and proving them by running them."""

from codegym.authoring.checking import CheckReport, TaskCheck, check
from codegym.authoring.history import Dropped, FromHistory, from_history
from codegym.grading.progress import Progress

__all__ = [
    "CheckReport",
    "Dropped",
    "FromHistory",
    "Progress",
    "TaskCheck",
    "check",
    "from_history",
]
