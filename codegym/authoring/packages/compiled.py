"""Compiled modules, taken from a wheel as data: nothing is built, and nothing is loaded here.

A wheel is what pip would install on this machine. Of it, only shared objects are read. One whose
source is Python is left out: it would be imported in that file's place, and no change to the file
would be noticed.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegym.authoring.packages.locking import run_pip
from codegym.errors import DataError, UsageError
from codegym.types import File, Tree
from codegym.workspace.names import path_problem

MAX_WHEEL_BYTES = 64 * 1024**2
MAX_UNPACKED_BYTES = 256 * 1024**2
_NATIVE = (".c", ".cc", ".cpp", ".cxx", ".f", ".f90", ".pyx", ".pxd", ".rs", ".go", ".cu")
_BACKENDS = (b"maturin", b"scikit_build_core", b"mesonpy", b"setuptools_rust")
_EXTENSIONS = re.compile(rb"\bext_modules\s*=|\bcythonize\(|\brust_extensions\s*=")
_NOT_BUILT = ("doc", "example", "test", "bench")
_SHARED_OBJECT = re.compile(r".+\.so(?:\.\d+)*")
_DATA_FOLDER = re.compile(r"[^/]+\.data/(?:platlib|purelib)/")
#: A wheel that mypyc made has one such module with the functions of all others.
_SHARED_BY_MYPYC = "__mypyc"
_MEND = (
    "Build one where there is a compiler (`pip wheel --no-deps .`), and name it in a file that you "
    'give with --with: wheel = "PATH". Where the project works without them, remove them from a '
    "copy and add that"
)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a wheel holds that a project's sources are missing.

    Attributes:
        files: Path from where the project's packages are imported, to the shared object.
        notes: What a user should know, as sentences.
    """

    files: dict[str, File]
    notes: tuple[str, ...]


def native_part(tree: Tree) -> str:
    """Name a sign that a project has parts which must be compiled, or ``""``."""
    for path in tree:
        if path.endswith(_NATIVE) and not path.startswith(_NOT_BUILT):
            return path
    if _EXTENSIONS.search(tree.get("setup.py", File(b"")).data):
        return "setup.py names extension modules"
    project = tree.get("pyproject.toml", File(b"")).data
    backend = next((each for each in _BACKENDS if each in project), b"")
    return f"it is built by {backend.decode()}" if backend else ""


def refuse_native(what: str, part: str, why: str) -> UsageError:
    """The refusal of a project whose compiled parts cannot be had."""
    return UsageError(f"{what} has compiled parts ({part}), and {why}. {_MEND}")


def fetch_wheel(wanted: str) -> tuple[str, bytes] | None:
    """Have pip fetch a wheel that fits this Python; it builds and installs nothing.

    Args:
        wanted: ``name==version``, or the path of a wheel.

    Returns:
        Its file name and content, or None where there is none that fits.

    Raises:
        UsageError: It is too large.
        UnavailableError: pip did not end.
    """
    with tempfile.TemporaryDirectory(prefix="codegym-wheel-") as folder:
        command = (
            *(sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"),
            *("--disable-pip-version-check", "--progress-bar", "off", "--no-deps"),
            *("--only-binary", ":all:", "--dest", folder, "--", wanted),
        )
        told = run_pip(command, folder)
        found = next(Path(folder).glob("*.whl"), None)
        if told.returncode != 0 or found is None:
            return None
        if found.stat().st_size > MAX_WHEEL_BYTES:
            raise UsageError(f"{found.name} is larger than {MAX_WHEEL_BYTES // 1024**2} MiB")
        return found.name, found.read_bytes()


def read_compiled(filename: str, data: bytes, modules: Tree) -> Compiled:
    """Take the shared objects out of a wheel.

    Args:
        filename: The wheel's name.
        data: Its content.
        modules: The project's files, from where its packages are imported.

    Raises:
        DataError: It is no wheel, too large, or holds a path that leads out.
    """
    try:
        found = dict(_shared_objects(filename, data))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(filename, f"is no whole wheel: {error}") from error
    twins = {path for path in found if _is_twin(path, modules)}
    kept = {path: file for path, file in sorted(found.items()) if path not in twins}
    notes = []
    if kept:
        digest = hashlib.sha256(data).hexdigest()
        notes.append(
            f"Its compiled modules ({len(kept)}) are those of `{filename}`, sha256 `{digest}`; a "
            "change to their sources has no effect."
        )
    if twins:
        notes.append(
            f"Compiled copies of Python modules ({len(twins)}) were left out: the Python runs."
        )
    return Compiled(kept, tuple(notes))


def _shared_objects(filename: str, data: bytes) -> Iterator[tuple[str, File]]:
    total = 0
    with zipfile.ZipFile(io.BytesIO(data)) as wheel:
        for member in wheel.infolist():
            path = _DATA_FOLDER.sub("", member.filename)
            if _SHARED_OBJECT.fullmatch(path) is None:
                continue
            total += member.file_size
            if total > MAX_UNPACKED_BYTES:
                raise DataError(filename, f"unpacks to over {MAX_UNPACKED_BYTES // 1024**2} MiB")
            if problem := path_problem(path):
                raise DataError(filename, f"{path!r} {problem}")
            yield path, File(wheel.read(member))


def _is_twin(path: str, modules: Tree) -> bool:
    """Whether a shared object is the compiled form of Python that is there."""
    folder, _, name = path.rpartition("/")
    module = name.partition(".")[0]
    stem = f"{folder}/{module}" if folder else module
    is_module = f"{stem}.py" in modules or f"{stem}/__init__.py" in modules
    return is_module or module.endswith(_SHARED_BY_MYPYC)
