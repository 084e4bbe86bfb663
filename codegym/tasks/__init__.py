"""Tasks, packs of tasks, and the environments that they belong to."""

from codegym.tasks.environment import (
    Edits,
    Environment,
    ImageSpec,
    Service,
    Suite,
    load_environment,
)
from codegym.tasks.joined import Joined
from codegym.tasks.pack import Pack, PackInfo, is_pack, read_info, write_pack
from codegym.tasks.quarantine import read_quarantine, write_quarantine
from codegym.tasks.rows import from_row, read_rows, to_row, write_rows
from codegym.tasks.sources import environments, resolve
from codegym.tasks.task_file import TaskFile

__all__ = [
    "Edits",
    "Environment",
    "ImageSpec",
    "Joined",
    "Pack",
    "PackInfo",
    "Service",
    "Suite",
    "TaskFile",
    "environments",
    "from_row",
    "is_pack",
    "load_environment",
    "read_info",
    "read_quarantine",
    "read_rows",
    "resolve",
    "to_row",
    "write_pack",
    "write_quarantine",
    "write_rows",
]
