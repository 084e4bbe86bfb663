"""Makes an image a sandbox's root. Runs in a Docker build, as root, and imports nothing of ours.

Beside it lie ``plan.json``, the lock file, its wheels and pip; all go at the end. What it refuses,
it says in its last line.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: What the engine mounts while this runs. (Devices of files do not tell, on an overlay.)
MOUNTS = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
APART = ("/proc", "/sys", "/dev", str(HERE))
#: What tells of other machines and times, what only installers need, and mere bulk.
EMPTIED = (
    *("boot", "home", "media", "mnt", "root", "run", "srv", "tmp", "etc/apt", "etc/ssh"),
    *("var/backups", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log", "var/mail"),
    *("usr/share/doc", "usr/share/info", "usr/share/lintian", "usr/share/locale", "usr/share/man"),
)
REMOVED = (
    *("etc/shadow", "etc/shadow-", "etc/gshadow", "etc/gshadow-", "etc/passwd-", "etc/group-"),
    *("etc/subuid", "etc/subgid", "etc/subuid-", "etc/subgid-", "etc/fstab", "etc/machine-id"),
    *(
        "etc/motd",
        "etc/.pwd.lock",
        "etc/pip.conf",
        "etc/resolv.conf",
        "var/lib/dbus/machine-id",
        ".dockerenv",
    ),
)


def main() -> None:
    """Do all of it."""
    began = time.time() - 1
    plan = json.loads((HERE / "plan.json").read_text())
    require(plan["programs"], plan["packages"])
    install(Path(plan["venv"]), plan)
    clean(plan)
    write(plan)
    shutil.rmtree(HERE)
    settle(began, plan["epoch_sec"])


def require(programs: list[str], packages: list[str]) -> None:
    """Look for what every sandbox needs, and for the Debian packages that the environment names."""
    missing = [name for name in programs if shutil.which(name, path="/usr/bin:/bin") is None]
    for package in packages:
        asked = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
        try:
            told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:
            told = ""
        if told != "installed":
            missing.append(f"the package {package}")
    if missing:
        sys.exit(f"the base image lacks {', '.join(missing)}; choose or make one that has them")


def install(venv: Path, plan: dict[str, Any]) -> None:
    """Make the virtual environment, with the wheels that the lock pins and no installer."""
    run([sys.executable, "-I", "-m", "venv", "--without-pip", str(venv)])
    python = str(venv / "bin/python")
    if plan["pins"]:
        options = "--quiet --no-deps --require-hashes --no-index --no-compile --no-cache-dir"
        quiet = "--no-warn-script-location --disable-pip-version-check --root-user-action=ignore"
        run(
            [
                *(python, "-P", "-m", "pip", "--isolated", "install", *options.split()),
                *(*quiet.split(), "--find-links", str(HERE / "wheels")),
                *("--requirement", str(HERE / "requirements.lock")),
            ],
            PYTHONPATH=str(HERE / "pip"),
        )
    site = next((venv / "lib").glob("python3*/site-packages"))
    for name in os.listdir(site):
        if name in plan["installers"] or re.split(r"-\d", name)[0] in plan["installers"]:
            remove(site / name)
    for name in os.listdir(venv / "bin"):
        if re.fullmatch(plan["not_in_bin"], name):
            remove(venv / "bin" / name)
    (site / "workspace.pth").write_text("".join(f"{path}\n" for path in plan["import_paths"]))
    compiling = [*(python, "-I", "-m", "compileall", "-qq", "-f"), str(venv / "lib")]
    subprocess.run([*compiling, "--invalidation-mode", "unchecked-hash"], check=False)


def run(argv: list[str], **env: str) -> None:
    """Run a step, and end with its status where it fails."""
    status = subprocess.run(argv, env={**os.environ, **env}, check=False).returncode
    if status:
        sys.exit(status)


def clean(plan: dict[str, Any]) -> None:
    """Remove what no sandbox may hold, and every privilege and privacy of a file."""
    for name in EMPTIED:
        for entry in Path("/", name).glob("*"):
            remove(entry)
    for name in REMOVED:
        remove(Path("/", name))
    for path in entries(skip=plan["venv"]):
        if path.name in plan["forbidden"] or path.suffix == ".whl":
            remove(path)
        elif not path.is_symlink() and (path.is_file() or path.is_dir()):
            found = path.stat().st_mode & 0o7777
            plain = 0o755 if path.is_dir() or found & 0o100 else 0o644
            if found != plain:  # else the layer would hold it once more
                path.chmod(plain)


def write(plan: dict[str, Any]) -> None:
    """Write the configuration that all sandboxes share, and the mount points."""
    for name in plan["folders"]:
        Path("/", name).mkdir(parents=True, exist_ok=True)
    for name, text in plan["texts"].items():
        path = Path("/", name)
        if str(path) not in MOUNTS:  # as /etc/hosts is
            remove(path)
            path.write_text(text)
    os.chown("/home/agent", 1000, 1000)
    Path("/tmp").chmod(0o1777)


def settle(began: float, epoch_sec: int) -> None:
    """Give one fixed time to all that was made here."""
    for path in (*entries(), Path("/")):
        if path.lstat().st_mtime >= began:
            os.utime(path, (epoch_sec, epoch_sec), follow_symlinks=False)


def entries(skip: str = "/proc") -> Iterator[Path]:
    """All there is; what is yielded may be removed."""
    for where, folders, names in os.walk("/"):
        apart = [name for name in folders if os.path.join(where, name) in (*APART, skip)]
        folders[:] = [name for name in folders if name not in apart]
        for name in (*names, *folders):
            path = Path(where, name)
            if str(path) not in MOUNTS:
                yield path


def remove(path: Path) -> None:
    """Remove whatever it is, if it is there. What the engine mounted stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif str(path) not in MOUNTS:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
