"""Running a program as an ordinary user from tests that run as root.

The interpreter, its libraries and this checkout may lie below folders that only root may enter. In
a mount namespace of its own, each such folder is covered by an empty one that shows just what is
needed; nothing of the machine changes.
"""

import shlex
import sys
from pathlib import Path

USER = 65534
CHECKOUT = Path(__file__).parent.parent


def as_user(argv, *, extra=()):
    """The command that runs ``argv`` as an ordinary user; ``extra`` folders are shown too."""
    needed = {Path(p).resolve() for p in (sys.base_prefix, sys.prefix, CHECKOUT, *extra)}
    lines, covered = ["set -e", "stage=$(mktemp -d)", "mount -t tmpfs none $stage"], set()
    for number, path in enumerate(sorted(needed)):
        lines += [
            f"mkdir $stage/{number}",
            f"mount --rbind {shlex.quote(str(path))} $stage/{number}",
        ]
    for number, path in enumerate(sorted(needed)):
        closed = next((p for p in [*reversed(path.parents), path] if not _open(p)), None)
        if closed is None:
            continue
        if closed not in covered:
            covered.add(closed)
            lines.append(f"mount -t tmpfs -o mode=755 none {shlex.quote(str(closed))}")
        quoted = shlex.quote(str(path))
        lines += [f"mkdir -p {quoted}", f"mount --rbind $stage/{number} {quoted}"]
    lines.append(
        f"exec setpriv --reuid {USER} --regid {USER} --clear-groups --inh-caps=-all "
        f"--bounding-set=-all --no-new-privs {shlex.join(argv)}"
    )
    return ["unshare", "--mount", "sh", "-c", "\n".join(lines)]


def _open(path):
    return path.stat().st_mode & 0o005 == 0o005
