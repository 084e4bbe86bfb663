"""Finding and fetching over real HTTP, from an index that this test serves on loopback."""

import base64
import hashlib
import json

import pytest

from codegym.authoring.packages.fetching import Fetcher, without_credentials
from codegym.authoring.packages.index import Requested, fetch_sdist, find_sdist
from codegym.errors import DataError, NotFoundError, UnavailableError, UsageError
from codegym.network.pip_settings import IndexSettings, read_config, settings_from

ARCHIVE = b"not looked into"
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
JSON = "application/vnd.pypi.simple.v1+json"


def look(*indexes, spec="pypi:pkg==1.0"):
    settings = IndexSettings(tuple(indexes))
    fetcher = Fetcher(settings)
    return fetch_sdist(find_sdist(Requested.parse(spec), settings, fetcher), fetcher)


def as_json(*files):
    rows = [{"filename": n, "url": u, "hashes": {"sha256": s} if s else {}} for n, u, s in files]
    return (200, JSON, json.dumps({"files": rows}).encode())


@pytest.mark.parametrize("form", ["json", "html"])
def test_it_is_found_and_fetched(server, form):
    if form == "json":
        page = as_json(
            ("pkg-1.0-py3-none-any.whl", "../w", SHA256),
            ("pkg-0.9.tar.gz", "../old", SHA256),
            ("pkg-1.0.tar.gz", "../../files/pkg-1.0.tar.gz", SHA256),
        )
    else:
        link = f'<a href="../../files/pkg-1.0.tar.gz#sha256={SHA256}">pkg-1.0.tar.gz</a>'
        page = (200, "text/html", f"<html><a>none</a>{link}</html>".encode())
    server.pages = {
        "/simple/pkg/": page,
        "/files/pkg-1.0.tar.gz": (200, "application/gzip", ARCHIVE),
    }
    assert look(f"http://{server.address}/simple/") == ARCHIVE


def test_names_are_compared_as_indexes_do(server):
    server.pages = {
        "/some-pkg/": as_json(("Some_Pkg-1.0.tar.gz", "/f", SHA256)),
        "/f": (200, "application/gzip", ARCHIVE),
    }
    assert look(f"http://{server.address}/", spec="pypi:Some.Pkg==1.0") == ARCHIVE


def test_the_next_index_is_asked(start):
    empty, full = start(), start()
    full.pages = {"/pkg/": as_json(("pkg-1.0.tar.gz", "f", SHA256)), "/pkg/f": (200, "", ARCHIVE)}
    assert look(f"http://{empty.address}/", f"http://{full.address}/") == ARCHIVE
    assert [path for path, _ in empty.asked] == ["/pkg/"]


def test_another_content_than_listed_is_refused(server):
    server.pages = {
        "/pkg/": as_json(("pkg-1.0.tar.gz", "/f", SHA256)),
        "/f": (200, "application/gzip", ARCHIVE + b"!"),
    }
    with pytest.raises(DataError, match=f"the index says {SHA256}"):
        look(f"http://{server.address}/")


@pytest.mark.parametrize("sha256", ["", "abc", "z" * 64])
def test_without_a_hash_nothing_is_fetched(server, sha256):
    server.pages = {"/pkg/": as_json(("pkg-1.0.tar.gz", "/f", sha256))}
    with pytest.raises(UsageError, match="no sha256"):
        look(f"http://{server.address}/")
    assert [path for path, _ in server.asked] == ["/pkg/"]


def test_what_is_not_there_is_said_with_what_is(server):
    with pytest.raises(NotFoundError, match="no package named 'pkg'"):
        look(f"http://{server.address}/")
    server.pages = {"/pkg/": as_json(("pkg-1.1.tar.gz", "/f", SHA256))}
    with pytest.raises(NotFoundError, match=r"'1\.0'; did you mean '1\.1'\?; there are 1\.1"):
        look(f"http://{server.address}/")


@pytest.mark.parametrize("body", [b"", b"[]", b'{"files": [1]}', b'{"files": 3}'])
def test_a_broken_page_is_refused_in_words(server, body):
    server.pages = {"/pkg/": (200, JSON, body)}
    with pytest.raises(DataError, match="no page of a simple index"):
        look(f"http://{server.address}/")


def test_an_index_that_fails_or_is_away(server):
    server.pages = {"/pkg/": (503, "text/plain", b"")}
    with pytest.raises(UnavailableError, match="answered 503"):
        look(f"http://{server.address}/")
    server.server_close()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        look("http://127.0.0.1:9/")


def test_credentials_go_to_their_index_and_nowhere_else(start):
    index, elsewhere = start(), start()
    index.pages = {
        "/pkg/": as_json(("pkg-1.0.tar.gz", "/f", SHA256)),
        "/f": (302, "text/plain", f"http://localhost:{elsewhere.server_address[1]}/f".encode()),
    }
    elsewhere.pages = {"/f": (200, "", ARCHIVE)}
    index.pages["/f"] = (302, "", f"http://{elsewhere.address}/f")
    assert look(f"http://me:s%40crET@{index.address}/") == ARCHIVE
    expected = "Basic " + base64.b64encode(b"me:s@crET").decode()
    assert index.asked == [("/pkg/", expected), ("/f", expected)]
    assert elsewhere.asked == [("/f", None)]


def test_credentials_are_in_no_message(server):
    server.pages = {"/pkg/": (500, "text/plain", b"")}
    with pytest.raises(UnavailableError) as caught:
        look(f"http://me:secret@{server.address}/")
    assert "secret" not in str(caught.value)
    assert without_credentials("https://example.org/x") == ("https://example.org/x", "")


@pytest.mark.parametrize(
    "spec", ["toolz", "pypi:", "pypi:toolz>=1", "toolz==1.1.0", "pypi:../x==1", "pypi:x==../1"]
)
def test_a_spec_names_package_and_version(spec):
    with pytest.raises(UsageError, match="write pypi:NAME==VERSION"):
        Requested.parse(spec)


def test_pip_configuration_is_read_as_pip_reads_it():
    printed = (
        "global.index-url='https://a.example/simple'\n"
        "global.extra-index-url='https://b.example/s/\\nhttps://c.example/s'\n"
        "install.cert='/x.pem'\n"
        ":env:.index-url='https://d.example/simple/'\n"
        ":env:.disable-pip-version-check='1'\n"
        "junk\nglobal.broken=[\n"
    )
    settings = settings_from(read_config(printed))
    assert settings.indexes == (
        "https://d.example/simple/",
        "https://b.example/s/",
        "https://c.example/s/",
    )
    assert settings.cert == "/x.pem"


def test_without_configuration_it_is_the_default_of_pip():
    (only,) = settings_from({}).indexes
    assert only.startswith("https://")
    assert only.endswith("/simple/")


def test_no_index_is_obeyed():
    with pytest.raises(UnavailableError, match="told to use no index"):
        settings_from({"no-index": "true"})
