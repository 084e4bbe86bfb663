"""Making environments and tasks, and proving them by running them."""

from codegym.authoring.checking import CheckReport, TaskCheck, check
from codegym.authoring.history import Dropped, FromHistory, from_history
from codegym.authoring.packages import Added, Declaration, add_environment, read_declaration
from codegym.authoring.patches import FromPatch, from_patch
from codegym.grading.progress import Progress

__all__ = [
    "Added",
    "CheckReport",
    "Declaration",
    "Dropped",
    "FromHistory",
    "FromPatch",
    "Progress",
    "TaskCheck",
    "add_environment",
    "check",
    "from_history",
    "from_patch",
    "read_declaration",
]
