"""Bringing a folder out of a sandbox as data.

``Sandbox.collect`` reads a policy's work and bounds it tightly; what a build installs may be a
thousand times that. So it comes as one archive, in parts that fit a report, and is read here file
by file: never extracted by the archive's own rules.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from codegym.errors import DataError
from codegym.sandbox.base import REPORT_FD, Sandbox
from codegym.types import CommandResult

#: Wall time of one step of a build.
STEP_SEC = 900.0
_PART_BYTES = 32 << 20
_MAX_BYTES = 6 << 30
_CLASHES = (FileExistsError, IsADirectoryError, NotADirectoryError)


def require(ran: CommandResult, source: Path, what: str) -> None:
    """Raise ``DataError``, blaming the file ``source``, where a step of a build did not work."""
    if ran.exit_code == 0 and not ran.timed_out and not ran.restarted:
        return
    how = f"took over {STEP_SEC:.0f} s" if ran.timed_out else f"failed ({ran.exit_code})"
    said = ran.output.decode(errors="replace").strip()[-2000:]
    raise DataError(source, f"{what} {how}{': ' if said else ''}{said}")


async def export(box: Sandbox, folder: str, archive: Path, source: Path, *, skip: str) -> None:
    """Write a folder of the sandbox, without its entry ``skip``, to ``archive`` (tar).

    It is packed anew for each part: keeping the archive inside would take the sandbox's memory.
    """
    pack = (
        "/usr/bin/tar --create --sort=name --format=posix --hard-dereference --mtime=@0"
        f" --pax-option=delete=atime,delete=ctime --exclude=./{skip} --directory={folder} ."
    )
    with archive.open("wb") as out:
        while out.tell() < _MAX_BYTES:
            window = f"/usr/bin/tail -c +{out.tell() + 1} | /usr/bin/head -c {_PART_BYTES}"
            script = f"{pack} | {window} >&{REPORT_FD}"
            part = await box.exec(["/bin/sh", "-c", script], report=True, timeout_sec=STEP_SEC)
            require(part, source, "reading what was installed")
            out.write(part.report)
            if len(part.report) < _PART_BYTES:
                return
    raise DataError(source, f"what it installs is larger than {_MAX_BYTES >> 30} GiB")


def unpack(
    archive: Path,
    dest: Path,
    source: Path,
    *,
    keep: Callable[[str], bool],
    secrets: Mapping[str, str],
) -> None:
    """Write the archive's regular files below ``dest`` (made here), modes made plain.

    Args:
        archive: What ``export`` wrote; untrusted.
        dest: A folder that is not there yet.
        source: The file to blame.
        keep: Whether to take a path; others are left out, whatever they are.
        secrets: Names and values of what no file may hold.

    Raises:
        DataError: An entry that is kept is neither file nor folder, leads out of ``dest``, is there
            twice, or holds a secret; or the archive is cut short.
    """
    dest.mkdir(parents=True)
    try:
        with tarfile.open(archive, "r:") as members:
            for member in members:
                path = posixpath.normpath(member.name)
                if member.isdir() or not keep(path):
                    continue
                plain = member.isreg() and not member.issparse()  # sparse: bytes from nothing
                content = members.extractfile(member) if plain else None
                if content is None or path.startswith(("/", "../")) or path == "..":
                    raise DataError(source, f"{path} is no regular file, so no image can hold it")
                _write(dest / path, content, source, secrets)
                (dest / path).chmod(0o755 if member.mode & 0o100 else 0o644)
    except DataError:
        raise
    except (tarfile.TarError, ValueError, *_CLASHES) as error:
        raise DataError(source, f"what it installs cannot be read: {error}") from error


def _write(target: Path, content: IO[bytes], source: Path, secrets: Mapping[str, str]) -> None:
    data = content.read()
    for name, value in secrets.items():
        if value and value.encode() in data:
            problem = f"{target.name} would hold the value of the build secret {name}"
            raise DataError(source, problem, field="image.build_secrets")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as file:
        file.write(data)
