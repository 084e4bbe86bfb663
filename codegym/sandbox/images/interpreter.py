"""A Python interpreter of the host, as a sandbox gets it: at its own path, and bare."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from codegym.errors import UnavailableError, UsageError

#: Run by an interpreter to describe itself.
PROBE = """
import json, os, sys
print(json.dumps([getattr(sys, "_base_executable", sys.executable), sys.base_prefix,
                  os.path.dirname(os.__file__), list(sys.version_info[:3])]))
"""
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*(\d+(?:\.\d+)*)(\.\*)?\s*")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A base interpreter (never a virtual environment's), all paths real and absolute.

    Attributes:
        executable: The binary itself, for example ``PREFIX/bin/python3.11``.
        prefix: ``sys.base_prefix``.
        stdlib: The folder of the standard library.
        version: Major, minor, micro.
    """

    executable: Path
    prefix: Path
    stdlib: Path
    version: tuple[int, int, int]

    @classmethod
    def running(cls) -> Self:
        """The interpreter below the running process."""
        executable = getattr(sys, "_base_executable", sys.executable)
        stdlib = str(Path(os.__file__).parent)
        return cls._of(executable, sys.base_prefix, stdlib, tuple(sys.version_info[:3]))

    @classmethod
    def at(cls, python: Path) -> Self:
        """The interpreter below the one at a path. Raises ``UnavailableError``."""
        try:
            told = subprocess.run(
                [python, "-I", "-S", "-c", PROBE],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UnavailableError(
                f"the Python at {python} does not run: {error}", "Name another interpreter"
            ) from error
        executable, prefix, stdlib, version = json.loads(told.stdout)
        return cls._of(executable, prefix, stdlib, tuple(version))

    @classmethod
    def _of(cls, executable: str, prefix: str, stdlib: str, version: tuple[int, ...]) -> Self:
        major, minor, micro = version
        return cls(
            Path(executable).resolve(),
            Path(prefix).resolve(),
            Path(stdlib).resolve(),
            (major, minor, micro),
        )

    @property
    def name(self) -> str:
        """For example ``python3.11``."""
        return f"python{self.version[0]}.{self.version[1]}"

    def require(self, wanted: str) -> None:
        """Check the version against what an environment asks for, for example ``">=3.11,<3.14"``.

        Raises:
            UsageError: ``wanted`` cannot be read.
            UnavailableError: This interpreter does not meet it.
        """
        if not all(self._meets(clause, wanted) for clause in wanted.split(",") if clause.strip()):
            have = ".".join(map(str, self.version))
            raise UnavailableError(
                f"the environment needs Python {wanted}, and CodeGym runs on {have}",
                "Install CodeGym with an interpreter of that version",
            )

    def _meets(self, clause: str, wanted: str) -> bool:
        read = _CLAUSE.fullmatch(clause)
        if read is None:
            raise UsageError(f"cannot read the Python version {wanted!r}; write it like '>=3.11'")
        operator, digits, any_below = read.groups()
        asked = tuple(map(int, digits.split(".")))
        width = len(asked) if any_below or operator == "~=" else 3
        asked_full = (*asked, 0, 0, 0)[: max(width, len(asked))]
        have = self.version[:width]
        if operator == "~=":
            return have[: len(asked) - 1] == asked[:-1] and have >= asked
        return {
            ">=": have >= asked_full,
            "<=": have <= asked_full,
            "==": have == asked_full,
            "!=": have != asked_full,
            ">": have > asked_full,
            "<": have < asked_full,
        }[operator]
