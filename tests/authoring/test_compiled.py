"""Compiled modules come from a wheel, as data, and never in the place of Python that is there."""

import io
import platform
import sys
import sysconfig
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from codegym import authoring
from codegym.authoring.packages import compiled
from codegym.authoring.packages.compiled import native_part, read_compiled
from codegym.authoring.packages.services import read_declaration
from codegym.errors import DataError, UsageError
from codegym.grading.paths import cross
from codegym.grading.scene import Scene
from codegym.tasks.sources import environment
from codegym.types import Change, File, Manifest

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
WHEEL = f"halves-1.0-{TAG}-{TAG}-linux_{platform.machine()}.whl"
TEST = """\
from halves import fast, twin


def test_compiled():
    assert fast.__file__.endswith(".so")


def test_python():
    assert twin.__file__.endswith(".py")
"""


def wheel(files) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        about = "Metadata-Version: 2.1\nName: halves\nVersion: 1.0\n"
        archive.writestr("halves-1.0.dist-info/METADATA", about)
        archive.writestr("halves-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: {TAG}-{TAG}-x\n")
        archive.writestr("halves-1.0.dist-info/RECORD", "")
    return raw.getvalue()


def tree(*paths):
    return {path: File(b"") for path in paths}


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({"pkg/fast.c": b""}, "pkg/fast.c"),
        ({"pkg/x.pyx": b""}, "pkg/x.pyx"),
        ({"pyproject.toml": b'build-backend = "maturin"'}, "it is built by maturin"),
        ({"setup.py": b"setup(ext_modules=[x])"}, "setup.py names extension modules"),
        ({"pkg/a.py": b"", "tests/data.c": b"", "setup.py": b"setup()"}, ""),
    ],
)
def test_what_is_a_sign_of_compiled_parts(files, part):
    assert native_part({path: File(data) for path, data in files.items()}) == part


def test_only_what_has_no_python_is_taken():
    data = wheel(
        {
            f"halves/fast{SUFFIX}": "a",
            f"halves/twin{SUFFIX}": "b",
            f"halves/sub/__init__{SUFFIX}": "c",
            f"0123abc__mypyc{SUFFIX}": "d",
            "halves-1.0.data/platlib/halves/more.abi3.so": "e",
            "halves.libs/libz-1.so.1.2": "f",
            "halves/new.py": "g",
        }
    )
    have = tree("halves/__init__.py", "halves/twin.py", "halves/sub/__init__.py")
    found = read_compiled("halves.whl", data, have)
    assert {path: file.data for path, file in found.files.items()} == {
        f"halves/fast{SUFFIX}": b"a",
        "halves/more.abi3.so": b"e",
        "halves.libs/libz-1.so.1.2": b"f",
    }
    assert len(found.notes) == 2


def test_a_wheel_without_any_means_that_none_is_needed():
    assert read_compiled("x.whl", wheel({"halves/a.py": ""}), {}) == compiled.Compiled({}, ())


@pytest.mark.parametrize("path", ["../evil.so", "/evil.so", "a/../../evil.so", ".git/evil.so"])
def test_a_path_that_leads_out_is_refused(path):
    with pytest.raises(DataError, match=r"halves\.whl"):
        read_compiled("halves.whl", wheel({path: ""}), {})


def test_junk_and_bombs_are_refused(monkeypatch):
    with pytest.raises(DataError, match="no whole wheel"):
        read_compiled("x.whl", b"PK junk", {})
    monkeypatch.setattr(compiled, "MAX_UNPACKED_BYTES", 10)
    with pytest.raises(DataError, match="unpacks to over"):
        read_compiled("x.whl", wheel({"a.so": "x" * 11}), {})


def extension() -> tuple[str, bytes]:
    """Some compiled module of this Python's own, and the name it goes by."""
    for name in ("_heapq", "_bisect", "_statistics", "_queue", "_json"):
        spec = find_spec(name)
        if spec and spec.origin and spec.origin.endswith(".so"):
            return name, Path(spec.origin).read_bytes()
    pytest.skip("THIS PYTHON HAS NO COMPILED MODULE OF ITS OWN")


def halves(name):
    return {
        "src/halves/__init__.py": f"import halves.{name} as fast\n",
        "src/halves/twin.py": "",
        "src/halves/fast.c": "",
        "tests/test_halves.py": TEST,
    }


@pytest.mark.network
@pytest.mark.usefixtures("index")
async def test_a_package_with_a_wheel(setting, sdist, serve_files, at_home):
    name, data = extension()
    info = "Metadata-Version: 2.4\nName: halves\nVersion: 1.0\n"
    packed = sdist({"PKG-INFO": info, **halves(name)}, folder="halves-1.0")
    serve_files("halves", "halves-1.0.tar.gz", packed)
    files = {f"halves/{name}{SUFFIX}": data, f"halves/twin{SUFFIX}": data}
    serve_files("halves", WHEEL, wheel(files))
    added = await authoring.add_environment("pypi:halves==1.0", setting)
    assert (added.tests, added.excluded) == (2, {})
    home = environment("halves")
    assert list(home.generated) == [f"src/halves/{name}{SUFFIX}"]
    kept = {path: File(file.read_bytes()) for path, file in home.generated.items()}
    scene = Scene.of(home, home.suite("unit"), kept, kept)
    edits = [Change(f"src/halves/{one}{SUFFIX}", b"forged") for one in (name, "twin", "new")]
    crossing = cross(Manifest(tuple(edits)), scene)
    assert (crossing.changes, len(crossing.refused)) == ((), 3)  # as it was, and no other
    assert f"`{WHEEL}`, sha256" in (home.folder / "README.md").read_text()


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
async def test_a_folder_with_a_wheel_that_the_user_built(setting, tmp_path):
    name, data = extension()
    folder = tmp_path / "project"
    for path, text in halves(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with pytest.raises(UsageError, match=r"nothing is compiled on the way\. .*pip wheel.*--with"):
        await authoring.add_environment(str(folder), setting)
    declared = tmp_path / "needs.toml"
    other = WHEEL.replace(TAG, "cp27")
    for filename in (WHEEL, other):
        (tmp_path / filename).write_bytes(wheel({f"halves/{name}{SUFFIX}": data}))
    declared.write_text(f'wheel = "{other}"\n')
    with pytest.raises(UsageError, match=r"cp27-.*\.whl does not fit this Python"):
        await authoring.add_environment(
            str(folder), setting, declaration=read_declaration(declared)
        )
    declared.write_text(f'wheel = "{WHEEL}"\n')
    added = await authoring.add_environment(
        str(folder), setting, declaration=read_declaration(declared)
    )
    assert (added.name, added.tests) == ("project", 2)
    declared.write_text('wheel = "nowhere.whl"\n')
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.whl"):
        read_declaration(declared)
