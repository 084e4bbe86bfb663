"""The root layer: a folder tree that becomes ``/``, from a list of the host's files.

Neither ``/usr`` nor ``/etc`` is taken as a whole: what is not listed does not exist inside. The
interpreter keeps its own path, since one mounted elsewhere picks up the system's libraries. No
loader cache is needed: a library that the host's loader finds outside its built-in folders gets a
link in the folder where the C library is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.sandbox.images import etc, programs
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.libraries import needed_by
from codegym.sandbox.images.listing import MERGED, Listing, folder_links, mode_of, place
from codegym.sandbox.images.packages import files_of
from codegym.sandbox.images.settling import EPOCH_SEC, settle
from codegym.store import LayerStore

#: Part of every key; raise it when a layer's content changes for the same host.
BUILDER = "2"

_NOT_IN_STDLIB = re.compile(
    r"tests?|idlelib|turtledemo|tkinter|turtle\.py|config-\d.*|.*\.(?:a|exe)|.*\.opt-[12]\.pyc"
    r"|(?:_tkinter|_test|_ctypes_test|_xxtestfuzz|xxlimited|xxsubtype).*\.so"
)


def build_root(interpreter: Interpreter, system_packages: Sequence[str], store: LayerStore) -> Path:
    """Return the root layer, copying it where this content was never copied.

    Its key is ``root-`` and the hash of what it holds. Blocking: a few seconds the first time.

    Raises:
        UnavailableError: The host lacks a program, a package, or room on its disk.
    """
    listing = list_root(interpreter, system_packages)

    def build(dest: Path) -> None:
        write_listing(dest, listing)
        _compile_missing(dest, interpreter)
        settle(dest, file_times=True)

    return store.publish(f"root-{listing.digest()}", build)


def list_root(interpreter: Interpreter, system_packages: Sequence[str] = ()) -> Listing:
    """List everything that a root with this interpreter and these packages holds."""
    listing = Listing(
        texts={at: text.encode() for at, text in etc.TEXTS.items()},
        links=dict(etc.LINKS),
        folders={*etc.FOLDERS, *(f"usr/{name}" for name in MERGED if name in folder_links())},
    )
    _add_programs(listing)
    _add_git_core(listing)
    _add_data(listing)
    _add_interpreter(listing, interpreter)
    for path in files_of(system_packages):
        listing.add(path)
    _add_libraries(listing, interpreter)
    return listing


def stamp(interpreter: Interpreter) -> str:
    """What changes, cheaply seen, when the host's files may have: programs, packages, Python.

    It only decides whether the list is made anew; the layer's key is its content.
    """
    seen = [BUILDER, str(interpreter)]
    watched = [path for name in programs.PROGRAMS if (path := find_program(name))]
    watched += [interpreter.executable, interpreter.stdlib, interpreter.stdlib / "lib-dynload"]
    watched += [Path("/var/lib/dpkg/status"), Path("/var/lib/rpm"), Path("/etc/ld.so.cache")]
    for path in watched:
        try:
            info = path.stat()
        except FileNotFoundError:
            continue
        seen.append(f"{path} {info.st_size} {info.st_mtime_ns} {info.st_ino}")
    return "\n".join(seen)


def find_program(name: str) -> Path | None:
    """The host's program, or None."""
    for folder in programs.FOLDERS:
        path = Path(folder, name)
        if path.is_file():
            return path
    return None


def write_listing(dest: Path, listing: Listing) -> None:
    """Copy and generate a listing's content below an empty folder; modes made plain, times kept."""
    for at in sorted(listing.folders):
        (dest / at).mkdir(parents=True, exist_ok=True)
    made: set[Path] = set()
    for at in (*listing.files, *listing.texts, *listing.links):
        folder = dest / Path(at).parent
        if folder not in made:
            folder.mkdir(parents=True, exist_ok=True)
            made.add(folder)
    for at, target in {**folder_links(), **listing.links}.items():
        (dest / at).symlink_to(target)
    for at, source in listing.files.items():
        _copy(source, dest / at)
    for at, data in listing.texts.items():
        (dest / at).write_bytes(data)
        (dest / at).chmod(0o644)
        os.utime(dest / at, (EPOCH_SEC, EPOCH_SEC))


def _add_programs(listing: Listing) -> None:
    for name in programs.PROGRAMS:
        path = find_program(name)
        if path is not None:
            listing.add(path)
        elif name in programs.REQUIRED:
            raise UnavailableError(
                f"this machine has no program {name!r}, which every sandbox needs",
                f"Install it (on Debian and Ubuntu: `apt-get install "
                f"{'git' if name == 'git' else 'coreutils findutils grep sed bash'}`)",
            )


def _add_git_core(listing: Listing) -> None:
    for folder in (Path("/usr/lib/git-core"), Path("/usr/libexec/git-core")):
        if not folder.is_dir():
            continue
        at = place(folder)
        for name in programs.GIT_CORE:
            listing.add(folder / name)
        for name in ("git", *programs.GIT.split()[1:]):  # its own copy is the program once more
            listing.links[f"{at}/{name}"] = os.path.relpath("usr/bin/git", at)


def _add_data(listing: Listing) -> None:
    for path in programs.EXTRA_FILES:
        listing.add(path)
    for folder in programs.LOCALE_FOLDERS:
        listing.add_folder(Path(folder))
    for folder in programs.TERMINFO_FOLDERS:
        for name in programs.TERMINALS:
            listing.add(Path(folder, name[0], name))


def _add_interpreter(listing: Listing, interpreter: Interpreter) -> None:
    listing.add_folder(interpreter.stdlib, skip=_NOT_IN_STDLIB)
    listing.add(interpreter.executable)
    at = Path(place(interpreter.executable))
    for name in ("python3", "python"):
        listing.links[str(at.with_name(name))] = at.name


def _add_libraries(listing: Listing, interpreter: Interpreter) -> None:
    binaries = [path for path in listing.files.values() if not path.name.endswith((".py", ".pyc"))]
    found = needed_by(binaries)
    home = next((path.parent for path in found if path.name.startswith("libc.so")), None)
    if home is None:
        raise UnavailableError(
            "no C library was found, so nothing could run in a sandbox",
            "Report this with the output of `ldd /bin/sh`",
        )
    named = (*programs.PLUGIN_LIBRARIES, *programs.WHEEL_LIBRARIES)
    for path in sorted(found | {home / name for name in named}):
        listing.add(path)
        by_loader = f"{place(home)}/{path.name}"
        outside = path.parent not in (home, Path("/lib64")) and path.is_file()
        if outside and by_loader not in listing.files and not _within(path, interpreter.prefix):
            listing.links.setdefault(by_loader, os.path.relpath(place(path), place(home)))


def _within(path: Path, prefix: Path) -> bool:
    """Whether a library belongs to an interpreter that has a folder of its own."""
    return prefix != Path("/usr") and path.is_relative_to(prefix)


def _copy(source: Path, dest: Path) -> None:
    """Copy content, mode and time (bytecode is good for one time of its source only)."""
    with source.open("rb") as old, dest.open("xb") as new:
        info = os.fstat(old.fileno())
        left = info.st_size
        try:
            while left > 0:  # in the kernel; file systems that can, share the blocks
                done = os.copy_file_range(old.fileno(), new.fileno(), left)
                if done == 0:
                    break
                left -= done
        except OSError:  # between kinds of file system, on older kernels
            old.seek(0)
            new.seek(0)
            new.truncate()
            shutil.copyfileobj(old, new)
    dest.chmod(mode_of(source))
    os.utime(dest, ns=(info.st_mtime_ns, info.st_mtime_ns))


def _compile_missing(dest: Path, interpreter: Interpreter) -> None:
    """Add bytecode that the host's library lacks: without it each start would compile anew."""
    stdlib = dest / place(interpreter.stdlib)
    subprocess.run(
        [
            *(interpreter.executable, "-I", "-S", "-m", "compileall", "-q"),
            *("-s", str(dest), "-p", "/", str(stdlib)),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=300,
        check=False,  # 1 where a file is no valid source; that one stays as it is
    )
