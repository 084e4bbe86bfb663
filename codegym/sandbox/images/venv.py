"""The layer at ``/opt/venv``, built inside a sandbox at its final path, with no network.

pip installs there rather than code of ours on the host: it knows all that wheels may hold (data
folders, scripts, entry points), checks the hashes once more, and whatever an environment's own
commands run stays inside. What comes out crosses as data: regular files, bounded, from an archive
that is read, never extracted by its own rules. Links, the configuration and the path to the tree
are then written here. Bytecode is compiled inside as ``unchecked-hash``, so no times need be kept.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegym.errors import UsageError
from codegym.sandbox.base import Backend, Sandbox
from codegym.sandbox.images.exporting import STEP_SEC, export, require, unpack
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.settling import settle
from codegym.sandbox.images.wheels import FOLDER, PIP
from codegym.types import WORKSPACE, Image, Limits, SandboxSpec

VENV = "/opt/venv"
_PYTHON = f"{VENV}/bin/python"
_LIMITS = Limits(memory_mb=8192, disk_mb=6144, processes=512, files=400_000)

#: Installers have no place in a sandbox: they bring copies of well-known packages with them.
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "wheel")
_OWN = re.compile(r"bin/python(?:3(?:\.\d+)?)?|lib64|pyvenv\.cfg")
NOT_IN_BIN = re.compile(r"(?:pip|wheel|easy_install)(?:-?\d+(?:\.\d+)?)?|[Aa]ctivate\..*")


@dataclass(frozen=True, slots=True)
class VenvPlan:
    """What a virtual environment is made of.

    Attributes:
        source: The file to blame where a step fails: the lock, or ``environment.toml``.
        commands: Key of ``environment.toml`` and command, run in turn in the tree.
        import_paths: Absolute folders inside that Python imports from.
        subdir: The project's folder inside ``/workspace``.
        secrets: Variables of the commands alone; must not be found in the layer.
    """

    source: Path
    commands: tuple[tuple[str, str], ...]
    import_paths: tuple[str, ...]
    subdir: str
    secrets: Mapping[str, str]


async def build_venv(
    dest: Path,
    plan: VenvPlan,
    backend: Backend,
    image: Image,
    wheels: Path,
    interpreter: Interpreter,
    progress: Callable[[str], None],
) -> None:
    """Fill ``dest`` with a layer that holds ``opt/venv``.

    Args:
        dest: An empty folder.
        plan: What to install and run.
        backend: Starts the sandbox.
        image: The root, pip (and, where commands need it, the tree).
        wheels: The layer ``fetch_wheels`` made.
        interpreter: The one in ``image``.
        progress: Told what is being done.

    Raises:
        DataError: A wheel cannot be installed, or a command failed.
    """
    spec = SandboxSpec(image, wheels, _LIMITS, mount=VENV)
    archive = dest / ".archive"
    async with await backend.start(spec) as box:
        await _install(box, plan, interpreter)
        for key, command in plan.commands:
            progress(f"{key}: {command}")
            where = posixpath.join(WORKSPACE, plan.subdir)
            script = f"cd -- {shlex.quote(where)} && {command}"
            ran = await box.exec(
                ["/bin/bash", "-c", script],
                env={**_OFFLINE, **plan.secrets},
                timeout_sec=STEP_SEC,
            )
            require(ran, plan.source, f"{key}: `{command}`")
        await _compile(box, plan)
        await export(box, VENV, archive, plan.source, skip=FOLDER)
    unpack(archive, dest / "opt/venv", plan.source, keep=_is_kept, secrets=plan.secrets)
    archive.unlink()
    _finish(dest, plan, interpreter)


_OFFLINE = {
    "PYTHONPATH": PIP,
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": f"{VENV}/{FOLDER}/wheels",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_NO_COMPILE": "1",
    "PIP_NO_WARN_SCRIPT_LOCATION": "1",
}


async def _install(box: Sandbox, plan: VenvPlan, interpreter: Interpreter) -> None:
    made = await box.exec(
        [str(interpreter.executable), "-I", "-m", "venv", "--without-pip", VENV],
        timeout_sec=STEP_SEC,
    )
    require(made, plan.source, "making the virtual environment")
    lock = f"{VENV}/{FOLDER}/requirements.lock"
    has_pins = await box.exec(["/usr/bin/test", "-s", lock])
    if has_pins.exit_code != 0:
        return
    installed = await box.exec(
        [
            *(_PYTHON, "-P", "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"),
            *("--requirement", lock),
        ],
        env={**_OFFLINE},
        timeout_sec=STEP_SEC,
    )
    require(installed, plan.source, "installing the pinned wheels")


async def _compile(box: Sandbox, plan: VenvPlan) -> None:
    # It says 1 where some file is no valid source (templates, other versions): that is no fault.
    ran = await box.exec(
        [
            *(_PYTHON, "-I", "-m", "compileall", "-qq", "-f"),
            *("--invalidation-mode", "unchecked-hash", f"{VENV}/lib"),
        ],
        timeout_sec=STEP_SEC,
    )
    if ran.timed_out or ran.restarted:
        require(ran, plan.source, "compiling the installed packages")


def _is_kept(path: str) -> bool:
    """Whether a file becomes part of the layer: installers do not, nor what ``_finish`` writes."""
    parts = path.split("/")
    if _OWN.fullmatch(path):
        return False
    if parts[0] == "bin":
        return NOT_IN_BIN.fullmatch(parts[1]) is None
    if "site-packages" not in parts[:-1]:
        return True
    name = parts[parts.index("site-packages") + 1]
    with_version = tuple(f"{each}-" for each in INSTALLERS)
    return name not in INSTALLERS and not name.startswith((*with_version, "distutils-precedence"))


def _finish(dest: Path, plan: VenvPlan, interpreter: Interpreter) -> None:
    """Write links, configuration and the path to the tree; set plain modes and one time."""
    venv = dest / "opt/venv"
    site = venv / "lib" / interpreter.name / "site-packages"
    for folder in (venv / "bin", site):
        folder.mkdir(parents=True, exist_ok=True)
    for name, target in (
        ("bin/python", str(interpreter.executable)),
        ("bin/python3", "python"),
        (f"bin/{interpreter.name}", "python"),
        ("lib64", "lib"),
    ):
        (venv / name).unlink(missing_ok=True)
        (venv / name).symlink_to(target)
    version = ".".join(map(str, interpreter.version))
    _write(
        venv / "pyvenv.cfg",
        f"home = {interpreter.executable.parent}\n"
        f"include-system-site-packages = false\nversion = {version}\n",
    )
    if plan.import_paths:
        _write(site / "workspace.pth", "".join(f"{path}\n" for path in plan.import_paths))
    settle(dest)


def _write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def require_secrets(names: Sequence[str]) -> dict[str, str]:
    """The host's variables that a build may read. Raises ``UsageError`` where one is not set."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise UsageError(
            f"image.build_secrets: {', '.join(missing)} not set; export it and try again"
        )
    return {name: os.environ[name] for name in names}
