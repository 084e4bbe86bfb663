"""Resolving what tests need, by pip, from an index that this test serves on loopback."""

import hashlib
import io
import zipfile

import pytest

from codegym.authoring.packages.gathering import Gathered, pins_of
from codegym.authoring.packages.layout import Layout
from codegym.authoring.packages.locking import UnmetError, resolve
from codegym.authoring.packages.metadata import PackageInfo
from codegym.errors import UnavailableError, UsageError


def wheel(name, version, *requires):
    raw = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr(f"{name}.py", "")
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
        archive.writestr(f"{info}/METADATA", about)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl", raw.getvalue()


@pytest.fixture
def publish(server, monkeypatch):
    """Puts wheels on the index, which is the only one that pip is told of."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{server.address}/simple/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    pages = {}

    def add(name, version, *requires):
        filename, data = wheel(name, version, *requires)
        server.pages[f"/{filename}"] = (200, "application/octet-stream", data)
        digest = hashlib.sha256(data).hexdigest()
        pages[name] = pages.get(name, "") + f'<a href="/{filename}#sha256={digest}">{filename}</a>'
        server.pages[f"/simple/{name}/"] = (200, "text/html", pages[name].encode())

    return add


def gathered(*test_requires, requires=(), pinned=()):
    info = PackageInfo("x", "1", "", "MIT", ">=3.11", requires, test_requires, b"")
    return Gathered("x", "", info, Layout(".", (), (), ()), (b"", ""), "", pinned=pinned)


def versions(pins):
    return {pin.name: pin.version for pin in pins}


def test_what_tests_cannot_have_is_left_out_alone_and_told(publish):
    publish("pytest", "8.0")
    publish("pytest", "9.0")
    publish("helper", "1.0")
    pins, notes = pins_of(gathered("pytest==8.0", "No.Such>=1", "helper"))
    assert versions(pins) == {"pytest": "8.0", "helper": "1.0"}
    assert len(notes) == 1
    assert "`No.Such>=1`" in notes[0]
    pins, notes = pins_of(gathered("pytest<9", "helper"))
    assert (versions(pins), notes) == ({"pytest": "8.0", "helper": "1.0"}, ())


def test_what_contradicts_itself_is_left_out_together(publish):
    publish("pytest", "9.0")
    publish("old", "1.0", "pytest<9")
    pins, notes = pins_of(gathered("old", "pytest==9.0"))
    assert versions(pins) == {"pytest": "9.0"}
    assert "`old`, `pytest==9.0`" in notes[0]


def test_a_lock_file_that_cannot_be_met_is_passed_over(publish):
    publish("pytest", "9.0")
    pins, _ = pins_of(gathered(pinned=("pytest==1.0",)))
    assert versions(pins) == {"pytest": "9.0"}


def test_what_the_package_itself_needs_must_be_there(publish):
    publish("pytest", "9.0")
    with pytest.raises(UsageError, match=r"cannot be had from wheels.*no-such"):
        pins_of(gathered("pytest", requires=("no-such",)))


@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_index_that_does_not_answer_changes_nothing_in_silence(publish, server, status):
    """pip takes a page that fails for one that is not there: pins would depend on the weather."""
    publish("pytest", "9.0")
    server.pages["/simple/helper/"] = (status, "text/plain", b"")
    with pytest.raises(UnavailableError, match=f"helper/ cannot be read: .*{status}"):
        pins_of(gathered("pytest==9.0", "helper"))


@pytest.mark.parametrize("status", [403, 404, 410])
def test_to_have_no_such_page_is_an_answer(publish, server, status):
    publish("pytest", "9.0")
    server.pages["/simple/helper/"] = (status, "text/plain", b"")
    with pytest.raises(UnmetError) as caught:
        resolve(["pytest", "helper"])
    assert caught.value.missing == "helper"
