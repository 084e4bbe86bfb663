"""Whose containers these are: the process that a label names, and whether it still lives."""

from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

#: On every container, volume and image of ours.
LABEL = "codegym"
#: On containers and volumes: which process they belong to.
OWNER_LABEL = "codegym.owner"

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MACHINE = Path("/etc/machine-id")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, told apart from every other that ever had its number.

    Attributes:
        machine: Hash of what tells this machine from others.
        boot: Which of its boots.
        space: Which numbering of processes: a container has its own.
        pid: Its number there.
        started: When it started, in ticks since the boot.
    """

    machine: str
    boot: str
    space: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.machine}/{self.boot}/{self.space}/{self.pid}/{self.started}"

    @classmethod
    def me(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(*_here(), pid, _started(pid))

    @classmethod
    def parse(cls, label: str) -> Owner | None:
        """The process that a label names; None where it names none."""
        parts = label.split("/")
        if len(parts) != len(cls.__slots__) or not parts[3].isdigit():
            return None
        return cls(parts[0], parts[1], parts[2], int(parts[3]), parts[4])

    def is_gone(self) -> bool:
        """Whether it surely ended. One of another machine or container cannot be asked after."""
        machine, boot, space = _here()
        if self.machine != machine:
            return False
        if self.boot != boot:
            return True
        return self.space == space and _started(self.pid) != self.started


def _here() -> tuple[str, str, str]:
    machine = _text(_MACHINE) or f"{uuid.getnode():012x}"
    try:
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path: "pid:[4026531836]"
    except OSError:
        space = "-"
    return hashlib.sha256(machine.encode()).hexdigest()[:16], _text(_BOOT) or "-", space


def _started(pid: int) -> str:
    """When a process started, ``""`` where there is none such (or it is dead and not buried)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self").exists() else _alive(pid)
    return "" if fields[0] in "ZX" else fields[19]


def _alive(pid: int) -> str:
    """Where there is no /proc: as good as it gets."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "alive"
    return "alive"


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
