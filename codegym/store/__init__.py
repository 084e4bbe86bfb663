"""What is kept on disk between processes: the cache folder, layers, whole files, event logs."""

from codegym.store.cache import cache_dir
from codegym.store.events import Event, EventLog
from codegym.store.files import remove_drafts, replacing, sync_folder
from codegym.store.holds import Holds
from codegym.store.layers import LayerStore, Pruned
from codegym.store.locks import locked_folder

__all__ = [
    "Event",
    "EventLog",
    "Holds",
    "LayerStore",
    "Pruned",
    "cache_dir",
    "locked_folder",
    "remove_drafts",
    "replacing",
    "sync_folder",
]
