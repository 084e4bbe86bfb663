"""Making environments and tasks, and proving them by running them."""

from codegym.authoring.history import Dropped, FromHistory, from_history
from codegym.authoring.progress import Progress

__all__ = ["Dropped", "FromHistory", "Progress", "from_history"]
