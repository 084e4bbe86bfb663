"""What a Docker build is given: the Dockerfile, and one folder that says how to make the root.

Nothing else of the environment's folder: its history and its tasks are the answers.
"""

from __future__ import annotations

import hashlib
import io
import json
import posixpath
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from codegym.sandbox.images import etc, programs
from codegym.sandbox.images.listing import FORBIDDEN
from codegym.sandbox.images.lock import read_lock
from codegym.sandbox.images.settling import EPOCH_SEC
from codegym.sandbox.images.venv import INSTALLERS, NOT_IN_BIN, VENV
from codegym.sandbox.images.wheels import FOLDER, PIP
from codegym.tasks import Environment
from codegym.types import WORKSPACE

_BUILDER = "2"
_PAYLOAD = Path(__file__).parent / "payload"
#: What an environment's Dockerfile is where it has nothing of its own to say.
DOCKERFILE = _PAYLOAD / "Dockerfile"


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what a build makes, apart from its base.

    Attributes:
        dockerfile: Its path, to blame.
        files: Path in the context to content; the wheels and pip come besides.
    """

    dockerfile: Path
    files: dict[str, bytes]

    def key(self, base: str) -> str:
        """Content hash, with the base image's id."""
        total = hashlib.sha256(f"{_BUILDER}\0{base}\0{version('pip')}".encode())
        for path, data in sorted(self.files.items()):
            total.update(f"\0{path}\0{len(data)}\0".encode() + data)
        return total.hexdigest()

    def context(self, wheels: Path, pip: Path) -> io.BytesIO:
        """The build context, a tar with one order and one time.

        Args:
            wheels: The layer that ``fetch_wheels`` made.
            pip: The layer that ``pip_layer`` made.
        """
        files = dict(self.files)
        for top, inside in ((wheels / FOLDER, ""), (pip / PIP.lstrip("/"), "pip/")):
            files |= {f"codegym/{inside}{path}": data for path, data in _below(top)}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path, data in sorted(files.items()):
                entry = tarfile.TarInfo(path)
                entry.size, entry.mtime, entry.mode = len(data), EPOCH_SEC, 0o644
                tar.addfile(entry, io.BytesIO(data))
        packed.seek(0)
        return packed


def recipe(environment: Environment, dockerfile: Path) -> Recipe:
    """What an environment's image is made of. Raises ``DataError`` for a wrong lock."""
    spec = environment.image
    pins, lock = read_lock(spec.requirements) if spec.requirements else ((), b"")
    project = posixpath.join(WORKSPACE, environment.subdir)
    plan = {
        "venv": VENV,
        "pins": len(pins),
        "import_paths": [posixpath.normpath(f"{project}/{path}") for path in spec.import_paths],
        "packages": spec.system_packages,
        "programs": programs.REQUIRED,
        "forbidden": sorted(FORBIDDEN),
        "installers": INSTALLERS,
        "not_in_bin": NOT_IN_BIN.pattern,
        "texts": dict(etc.TEXTS),
        "folders": sorted(etc.FOLDERS),
        "epoch_sec": EPOCH_SEC,
    }
    return Recipe(
        dockerfile,
        {
            "Dockerfile": dockerfile.read_bytes(),
            "codegym/install.py": (_PAYLOAD / "install.py").read_bytes(),
            "codegym/plan.json": json.dumps(plan, sort_keys=True, indent=1).encode(),
            "codegym/requirements.lock": lock,
        },
    )


_BYTECODE = re.compile(r"(?:.*/)?__pycache__/.*")


def _below(top: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if path.is_file() and _BYTECODE.fullmatch(name) is None:
            yield name, path.read_bytes()
