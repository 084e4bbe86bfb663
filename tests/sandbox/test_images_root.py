"""The root layer: what it holds, and above all what it does not."""

import importlib.util
import os
import pwd
import shutil
import stat
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import UnavailableError, UsageError
from codegym.sandbox.images import Interpreter, build_root, programs
from codegym.sandbox.images.listing import FORBIDDEN, Listing, place
from codegym.sandbox.images.root import list_root, stamp
from codegym.store import LayerStore

SYSTEM = Path("/usr/bin/python3")
INTERPRETERS = ["running", *(["system"] if SYSTEM.exists() else [])]
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="no Debian packages here")


@pytest.fixture(scope="module", params=INTERPRETERS)
def interpreter(request):
    return Interpreter.running() if request.param == "running" else Interpreter.at(SYSTEM)


@pytest.fixture(scope="module")
def root(interpreter):
    return build_root(interpreter, [], LayerStore())


def entries(root):
    for where, folders, names in os.walk(root):
        for name in (*folders, *names):
            yield Path(where, name)


def test_has_only_files_folders_and_links_that_all_may_read(root):
    for path in entries(root):
        mode = path.lstat().st_mode
        assert stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode), path
        if not stat.S_ISLNK(mode):
            assert stat.S_IMODE(mode) in (0o644, 0o755), path
    assert stat.S_IMODE(root.stat().st_mode) == 0o755


def test_has_no_installer_and_no_installed_package(root):
    unwanted = FORBIDDEN | {"test", "idlelib", "tkinter", "turtledemo", "_vendor"}
    assert [path for path in entries(root) if path.name in unwanted and path.is_dir()] == []
    assert [path for path in entries(root) if path.suffix in (".whl", ".a")] == []
    assert [path for path in entries(root) if path.name.startswith(("pip3", "pip-"))] == []


def test_has_no_name_of_the_host(root):
    passwd = (root / "etc/passwd").read_text()
    names = {line.split(":")[0] for line in passwd.splitlines()}
    assert names == {"root", "agent", "nobody"}
    assert (root / "etc/passwd").read_text() != Path("/etc/passwd").read_text()
    people = {user.pw_name for user in pwd.getpwall() if user.pw_uid >= 1000} - names
    etc = "".join(path.read_text() for path in (root / "etc").iterdir() if path.is_file())
    assert [name for name in people if f"\n{name}:" in etc] == []
    assert not (root / "etc/resolv.conf").exists()
    assert {path.name for path in (root / "etc").iterdir()} <= {
        *("passwd", "group", "hosts", "host.conf", "nsswitch.conf", "gitconfig", "shells"),
        *("timezone", "localtime", "os-release", "mtab", "protocols", "services"),
        "terminfo",
    }


def test_of_a_home_only_the_interpreter_is_there(root, interpreter):
    for top in ("home", "root"):
        for path in (root / top).rglob("*"):
            inside = Path("/", path.relative_to(root))
            assert inside in (Path("/home/agent"), interpreter.prefix) or (
                inside.is_relative_to(interpreter.prefix)
                or interpreter.prefix.is_relative_to(inside)
            )


def test_no_link_leads_out(root):
    allowed = {"etc/mtab", "etc/os-release", "etc/localtime"}  # what they lead to may be absent
    for path in entries(root):
        if path.is_symlink() and str(path.relative_to(root)) not in allowed:
            target = str(path.readlink())
            assert not target.startswith("/"), path
            real = Path(os.path.normpath(path.parent.resolve() / target))
            assert real.is_relative_to(root), path
            assert real.exists(), path


def test_bytecode_is_there_and_good_for_its_source(root, interpreter):
    stdlib = root / place(interpreter.stdlib)
    sources = sorted(stdlib.glob("*.py"))
    assert len(sources) > 100
    for source in sources:
        tag = f"cpython-{interpreter.version[0]}{interpreter.version[1]}"
        compiled = source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"
        flags, mtime, size = struct.unpack("<III", compiled.read_bytes()[4:16])
        info = source.stat()
        assert flags or (mtime, size) == (int(info.st_mtime), info.st_size), source


def test_is_small(root):
    total = sum(path.lstat().st_size for path in entries(root))
    assert total < 250_000_000


def test_its_key_is_its_content(root, interpreter, tmp_path):
    again = build_root(interpreter, [], LayerStore(tmp_path / "store"))
    assert again.name == root.name
    assert again != root
    listing = list_root(interpreter)
    before = listing.digest()
    listing.texts["etc/passwd"] += b"mallory:x:0:0::/:/bin/sh\n"
    assert listing.digest() != before


def test_a_file_that_differs_in_anything_that_matters_changes_the_digest(tmp_path):
    source = tmp_path / "program"
    digests = set()
    for data, mode, at in (
        (b"a", 0o755, "a"),
        (b"b", 0o755, "a"),
        (b"a", 0o644, "a"),
        (b"a", 0o755, "b"),
    ):
        source.write_bytes(data)
        source.chmod(mode)
        digests.add(Listing(files={at: source}).digest())
    assert len(digests) == 4
    source.write_bytes(b"a")
    source.chmod(0o4755)
    assert Listing(files={"a": source}).digest() in digests  # setuid never gets in
    compiled = Listing(files={"a.pyc": source}).digest()
    assert compiled == Listing().digest()


def test_the_stamp_is_steady_and_sees_another_interpreter(interpreter, tmp_path):
    assert stamp(interpreter) == stamp(interpreter)
    copy = tmp_path / "python"
    copy.write_bytes(b"")
    other = Interpreter(copy, interpreter.prefix, interpreter.stdlib, interpreter.version)
    assert stamp(other) != stamp(interpreter)


@given(
    st.lists(st.sampled_from(["bin", "sbin", "lib", "lib64", "usr", "etc", "opt", "x"]), min_size=1)
)
def test_places_are_inside_and_final(parts):
    path = "/" + "/".join(parts)
    at = place(path)
    assert not at.startswith(("/", ".."))
    assert place(f"/{at}") == at
    if len(parts) > 1 and parts[0] in ("bin", "lib"):
        assert at.startswith("usr/")


def test_a_missing_program_is_named_with_its_mend(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "FOLDERS", (str(tmp_path),))
    with pytest.raises(UnavailableError, match=r"no program 'bash'.*apt-get install"):
        list_root(Interpreter.running())


def test_an_interpreter_that_does_not_run_is_refused(tmp_path):
    with pytest.raises(UnavailableError, match="does not run"):
        Interpreter.at(tmp_path / "python")


@needs_dpkg
def test_a_system_package_brings_its_programs_and_their_libraries():
    plain, more = (list_root(Interpreter.running(), names) for names in ([], ["util-linux"]))
    assert "usr/bin/lscpu" not in plain.files
    assert "usr/bin/lscpu" in more.files
    told = subprocess.run(["ldd", "/usr/bin/lscpu"], capture_output=True, text=True, check=True)
    if "libsmartcols" in told.stdout:
        assert [at for at in more.files if "libsmartcols" in at]
    assert not [at for at in more.files if at.startswith(("usr/share/doc", "usr/share/man"))]
    assert plain.digest() != more.digest()


@needs_dpkg
def test_a_system_package_that_is_missing_is_named_with_its_mend():
    with pytest.raises(UnavailableError, match="apt-get install no-such-package-at-all"):
        list_root(Interpreter.running(), ["no-such-package-at-all"])


@needs_dpkg
@pytest.mark.parametrize("name", ["--admindir=/tmp", "Bash", "a b", "", "../x"])
def test_what_is_no_package_name_is_refused(name):
    with pytest.raises(UsageError, match="no Debian package name"):
        list_root(Interpreter.running(), [name])


@pytest.mark.parametrize(
    ("wanted", "meets"),
    [
        (">=3.11", True),
        (">=3.11,<3.14", True),
        ("==3.11.*", True),
        ("==3.11", False),
        ("==3.11.7", True),
        ("!=3.11.*", False),
        ("!=3.11.8", True),
        ("~=3.11", True),
        ("~=3.11.5", True),
        ("~=3.10.5", False),
        (">3.11", True),
        (">3.11.7", False),
        ("<3.11.7", False),
        ("<=3.11.7", True),
        (">=3.12", False),
        ("<3.11", False),
        (">=3", True),
    ],
)
def test_versions_are_compared_as_packages_do(wanted, meets):
    here = Interpreter(Path("/p/bin/python3.11"), Path("/p"), Path("/p/lib"), (3, 11, 7))
    if meets:
        here.require(wanted)
    else:
        with pytest.raises(UnavailableError, match=r"needs Python .* runs on 3\.11\.7"):
            here.require(wanted)


def test_a_version_that_cannot_be_read_is_refused():
    with pytest.raises(UsageError, match="write it like"):
        Interpreter.running().require("three")


def test_the_builder_lists_no_whole_folder_of_the_host():
    listing = list_root(Interpreter.running())
    have = set(listing.files)
    assert len(have) < 4000
    beside = [path for path in Path("/usr/bin").iterdir() if f"usr/bin/{path.name}" not in have]
    assert beside, "everything in /usr/bin would be in the root"
    assert importlib.util.find_spec("pip") is not None  # the host has it; the root does not
    assert not [at for at in have if "/pip/" in at]
