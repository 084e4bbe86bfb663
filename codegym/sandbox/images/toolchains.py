"""Compilers and interpreters of the host in a layer of their own, so that images share it.

Like the root, a layer is a list of files and nothing else of the host: the programs, the libraries
that the loader finds for them, and the folders that they need (a standard library, headers, the
linker's parts). Its key is the hash of its content. What lies below ``/usr`` keeps its place; what
lies elsewhere, as in a home, is put below ``/usr/local``: all of these find their parts from where
they are themselves, and no path of the host is seen inside.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegym.errors import UnavailableError
from codegym.sandbox.images.libraries import needed_by
from codegym.sandbox.images.listing import Listing, place
from codegym.sandbox.images.packages import files_of
from codegym.sandbox.images.programs import FOLDERS
from codegym.sandbox.images.root import write_listing
from codegym.sandbox.images.settling import settle
from codegym.store import LayerStore

#: Raise it when a layer's content changes for the same host.
_VERSION = "3"
_TIMEOUT_SEC = 60.0
_NOTHING = re.compile(r"(?!)")
_C_PROGRAMS = (
    *("gcc", "cc", "cpp", "gcov", "make"),
    *("as", "ld", "ld.bfd", "ar", "nm", "ranlib", "strip", "objcopy"),
)
#: Of gcc's own folder: what other languages and sanitizers need.
_NOT_OF_C = re.compile(r"cc1plus|lto1|g\+\+-mapper-server|plugin|.*san.*|libstdc.*|libsupc.*")
_C_LIBRARY = re.compile(
    r"[gMSr]*crt[1in]\.o|lib(?:c|m|mvec|pthread|dl|rt|util)(?:-[\d.]+|_nonshared)?\.(?:a|so)"
    r"|libmvec\.so\.1"
)
_NOT_OF_JAVA = re.compile(r"src\.zip|jmods|demo|man|legal|docs|sample|include")
#: What Maven and Gradle have in their own folder: a script elsewhere that calls them has not.
_BUILDERS = {"mvn": "boot/plexus-classworlds*.jar", "gradle": "lib/gradle-launcher-*.jar"}
#: This machine's own settings hold addresses and passwords.
_NOT_OF_BUILDS = re.compile(
    r"src|docs|samples|man|settings.*\.xml|toolchains\.xml|gradle\.properties|init\.d"
)
_NOT_OF_GO = re.compile(r"testdata|.*_test\.go|cmd|.*_race|obj|doc|api|test|misc")


@dataclass(frozen=True, slots=True)
class _Toolchain:
    """How one is found.

    Attributes:
        programs: Those that it cannot be without.
        packages: What Debian and Ubuntu call what has them.
        fill: Lists its files, given where the programs are.
        env: Variables of every process in a sandbox.
        also: Programs that enter where they are there.
    """

    programs: tuple[str, ...]
    packages: str
    fill: Callable[[Listing, Mapping[str, Path]], None]
    env: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()


def toolchain_layers(names: Sequence[str], store: LayerStore) -> list[Path]:
    """The layers of some toolchains, copied where their content never was. Blocking: seconds.

    Raises:
        UnavailableError: The host lacks one; says what to install.
    """
    return [_layer(name, store) for name in names]


def toolchain_env(names: Sequence[str]) -> dict[str, str]:
    """Variables that toolchains need inside."""
    return {key: value for name in names for key, value in _KNOWN[name].env.items()}


def toolchain_stamp(names: Sequence[str]) -> str:
    """What changes when a toolchain may have: its programs. As ``root.stamp``."""
    seen = [_VERSION] if names else []
    for name in names:
        others = (path for one in _KNOWN[name].also if (path := _which(one)) is not None)
        for path in (*_programs(name).values(), *others):
            info = path.stat()
            seen.append(f"{path.resolve()} {info.st_size} {info.st_mtime_ns}")
    return "\n".join(seen)


def missing_toolchains() -> dict[str, str]:
    """Toolchains that this machine lacks, to the packages that have them."""
    return {
        name: known.packages
        for name, known in _KNOWN.items()
        if any(_which(program) is None for program in known.programs)
    }


def toolchain_names() -> tuple[str, ...]:
    """All that there are."""
    return tuple(_KNOWN)


def _layer(name: str, store: LayerStore) -> Path:
    listing = Listing()
    _KNOWN[name].fill(listing, _programs(name))
    _add_libraries(listing)

    def build(dest: Path) -> None:
        write_listing(dest, listing)
        settle(dest, file_times=True)

    return store.publish(f"toolchain-{listing.digest()}", build)


def _programs(name: str) -> dict[str, Path]:
    """Where a toolchain's programs are."""
    known = _KNOWN[name]
    found = {program: _which(program) for program in known.programs}
    lacking = [program for program, path in found.items() if path is None]
    if lacking:
        raise UnavailableError(
            f"the environment needs the toolchain {name!r}, and this machine has no "
            f"{' and no '.join(lacking)}",
            f"Install it (on Debian and Ubuntu: `apt-get install {known.packages}`)",
        )
    return {program: path for program, path in found.items() if path is not None}


def _which(program: str) -> Path | None:
    """A program of the user's; also where installers put it that edit only a shell's profile."""
    home = Path.home()
    extra = (f"{home}/.cargo/bin", "/usr/local/go/bin", *FOLDERS)
    found = shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", ""), *extra)))
    return Path(found) if found else None


def _ask(*words: str | Path) -> str:
    """What a toolchain's program says of itself; asked where no project can have a say in it."""
    said = subprocess.run(
        [str(word) for word in words],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SEC,
        check=False,
    )
    if said.returncode != 0:
        raise UnavailableError(
            f"`{' '.join(map(str, words))}` failed: {said.stderr.strip()[-300:]}",
            "Mend or reinstall that toolchain",
        )
    return said.stdout.strip()


def _add_libraries(listing: Listing) -> None:
    """What the listed binaries load: where the loader looks by itself, or in their own folders."""
    own = set(listing.files.values())
    found = needed_by(own)
    looked_in = {path.parent for path in found if path.name.startswith("libc.so")}
    for path in sorted(found):
        if path.parent in looked_in or path.resolve() not in own:
            listing.add(path)


def _walk(folder: Path, skip: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    """Regular files below a folder, through links, which distributions make of parts of theirs."""
    seen: set[Path] = set()
    for where, names, files in os.walk(folder, followlinks=True):
        real = Path(where).resolve()
        names[:] = sorted(one for one in names if not skip.fullmatch(one) and real not in seen)
        seen.add(real)
        for name in files:
            path = Path(where, name).resolve()
            if not skip.fullmatch(name) and path.is_file() and os.access(path, os.R_OK):
                yield str(Path(where, name).relative_to(folder)), path


def _add_tree(listing: Listing, folder: Path, at: str, skip: re.Pattern[str] = _NOTHING) -> None:
    for name, path in _walk(folder, skip):
        listing.files.setdefault(f"{at}/{name}", path)


def _add_program(listing: Listing, path: Path, at: str) -> None:
    """A program at ``at``, where a shell finds it too."""
    listing.files[at] = path.resolve()
    listing.links[f"usr/bin/{path.name}"] = os.path.relpath(at, "usr/bin")


def _fill_c(listing: Listing, programs: Mapping[str, Path]) -> None:
    gcc = programs["gcc"]
    for name in _C_PROGRAMS:
        if path := _which(name):
            listing.add(path)
    parts = Path(_ask(gcc, "-print-libgcc-file-name")).resolve().parent
    listing.add_folder(parts, skip=_NOT_OF_C)
    for name in ("cc1", "collect2"):
        listing.add(_ask(gcc, f"-print-prog-name={name}"))
    for path in sorted(Path(_ask(gcc, "-print-file-name=crt1.o")).resolve().parent.iterdir()):
        if _C_LIBRARY.fullmatch(path.name):
            listing.add(path)
    if shutil.which("dpkg-query"):
        for path in files_of(("libc6-dev", "linux-libc-dev")):
            if path.is_relative_to("/usr/include"):
                listing.add(path)
    else:
        listing.add_folder(Path("/usr/include"))


def _fill_rust(listing: Listing, programs: Mapping[str, Path]) -> None:
    _fill_c(listing, programs)  # rustc links by calling it
    sysroot = Path(_ask(programs["rustc"], "--print", "sysroot")).resolve()
    at = "usr" if sysroot == Path("/usr") else "usr/local/lib/rust"
    for name in ("cargo", "rustc", "rustdoc"):
        path = sysroot / "bin" / name
        if at == "usr":
            listing.add(path)
        elif path.is_file():
            _add_program(listing, path, f"{at}/bin/{name}")
    target = next(
        line.partition(": ")[2]
        for line in _ask(programs["rustc"], "-vV").splitlines()
        if line.startswith("host: ")
    )
    parts = f"lib/rustlib/{target}"
    _add_tree(listing, sysroot / parts, f"{at}/{parts}", re.compile(r"librustc-.*san\.a"))
    for path in (sysroot / "lib").glob("*.so*") if at != "usr" else ():
        listing.files.setdefault(f"{at}/lib/{path.name}", path.resolve())


def _fill_go(listing: Listing, programs: Mapping[str, Path]) -> None:
    root, at = Path(_ask(programs["go"], "env", "GOROOT")).resolve(), "usr/local/go"
    _add_tree(listing, root, at, _NOT_OF_GO)
    for name in ("go", "gofmt"):
        listing.links[f"usr/bin/{name}"] = f"../local/go/bin/{name}"


def _fill_java(listing: Listing, programs: Mapping[str, Path]) -> None:
    home, at = programs["javac"].resolve().parent.parent, "usr/local/lib/jdk"
    _add_tree(listing, home, at, _NOT_OF_JAVA)
    for name in ("java", "javac", "jar"):
        listing.links[f"usr/bin/{name}"] = f"../local/lib/jdk/bin/{name}"
    for name in _KNOWN["java"].also:
        if path := _which(name):
            _add_builder(listing, path)


def _add_builder(listing: Listing, path: Path) -> None:
    """Maven or Gradle; Debian's Gradle looks for itself, and for libraries, by their places."""
    home = path.resolve().parent.parent
    if not any(home.glob(_BUILDERS[path.name])):
        return
    packaged = home.is_relative_to("/usr/share")
    at = place(home) if packaged else f"usr/local/lib/{path.name}"
    _add_tree(listing, home, at, _NOT_OF_BUILDS)
    listing.links[f"usr/bin/{path.name}"] = os.path.relpath(f"{at}/bin/{path.name}", "usr/bin")
    if packaged and path.name == "gradle":
        listing.add_folder(Path("/usr/share/java"))


def _fill_node(listing: Listing, programs: Mapping[str, Path]) -> None:
    path = programs["node"].resolve()
    if place(path).startswith("usr/bin/"):
        listing.add(programs["node"])
    else:
        _add_program(listing, path, "usr/local/lib/node/bin/node")


_KNOWN: Mapping[str, _Toolchain] = {
    "c": _Toolchain(("gcc", "make", "ld"), "gcc libc6-dev make", _fill_c),
    "go": _Toolchain(
        ("go",),
        "golang-go",
        _fill_go,
        {
            "CGO_ENABLED": "0",
            "GOCACHE": "/tmp/go-cache",
            "GOPATH": "/tmp/go",
            "GOPROXY": "off",
            "GOROOT": "/usr/local/go",
            "GOTOOLCHAIN": "local",
        },
    ),
    "java": _Toolchain(
        ("javac", "java"),
        "openjdk-17-jdk-headless",
        _fill_java,
        {"JAVA_HOME": "/usr/local/lib/jdk"},
        also=tuple(_BUILDERS),
    ),
    "node": _Toolchain(("node",), "nodejs", _fill_node),
    "rust": _Toolchain(
        ("cargo", "rustc", "gcc"),
        "cargo gcc libc6-dev",
        _fill_rust,
        {"CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": "/tmp/target"},
    ),
}
