"""A live index as of a date: what is to be hidden is not there, whichever way it is asked for."""

import json
import ssl

import pytest
from registries import tarball, wheel

from codegym.errors import UsageError

pytestmark = pytest.mark.network

ORIGIN, FILES = "origin.test.example", "sink.test.example"
AS_OF, EARLY, LATE = "2020-01-01T00:00:00Z", "2019-06-01T00:00:00.000Z", "2020-06-01T00:00:00.000Z"
MARKER = "the_fix_of_the_task"
PIP = '[[allow]]\nname = "index"\nregistry = "pip"\nas_of = "task"\n'
NPM = PIP.replace('"pip"', '"npm"')


@pytest.fixture
def way(index, entered):
    return entered()


def test_a_page_lists_what_was_there_in_both_forms(way):
    status, body = way.get("/simple/Dep/")
    (file,) = json.loads(body)["files"]
    html = way.get("/simple/dep/", accept="text/html")[1].decode()
    assert status == 200
    assert file["filename"] == "dep-1.0-py3-none-any.whl"
    assert file["url"] in html
    assert "2.0" not in html
    assert b"nowhere" not in body
    assert "provenance" not in file
    assert json.loads(body)["versions"] == ["1.0"]
    assert json.loads(way.get("/pypi/dep/json")[1])["releases"].keys() == {"1.0"}
    assert way.get("/pypi/dep/1.0/json")[0] == 200
    assert way.get("/pypi/dep/2.0/json")[0] == 404
    assert way.origin.asked == [("GET", "/simple/dep/", f"{ORIGIN}:{way.origin.port}")]  # once


def test_a_file_and_its_metadata_come_from_where_the_index_says(way):
    file = json.loads(way.get("/simple/dep/")[1])["files"][0]
    _, content, metadata = wheel("dep", "1.0")
    assert way.get(file["url"]) == (200, content)
    assert way.get(f"{file['url']}.metadata") == (200, metadata)
    assert way.get(file["url"]) == (200, content)
    assert [path for _, path, _ in way.sink.asked] == [
        f"/packages/{file['filename']}", f"/packages/{file['filename']}.metadata"
    ]  # fmt: skip
    assert way.head(file["url"]) == (200, len(content))
    fetched = [(each["host"], each["bytes"]) for each in way.records() if each["event"] == "fetch"]
    assert fetched[1:] == [(FILES, len(content)), (FILES, len(metadata))]


def test_the_project_under_test_is_not_there_in_any_form(index, entered):
    path = index.add_wheel("tested", "1.1", EARLY)
    way = entered()
    forms = (
        *("/simple/tested/", "/simple/tested", "/simple/Tested/", "/pypi/tested/json"),
        *("/pypi/tested/1.1/json", path, f"{path}.metadata"),
        f"/simple/dep/{path.split('/')[3]}/{path.split('/')[4]}",
    )
    never = way.get("/simple/never/")
    for form in forms:
        assert way.get(form) == never == (404, b"not in this index\n"), form
    assert not any("tested" in path for _, path, _ in way.origin.asked)
    assert way.sink.accepted == 0
    assert len(way.reasons("index")) == len(forms) + 1
    assert "the project 'tested' is denied" in way.reasons("index")


def test_only_what_is_listed_is_served(index, entered):
    late = index.add_wheel("dep", "1.0.post1", LATE)
    timeless = index.add_wheel("dep", "0.9", EARLY, **{"upload-time": ...})
    way = entered()
    early = json.loads(way.get("/simple/dep/")[1])["files"][0]["url"]
    other = early.replace(early.split("/")[3], "0" * 64)
    for path in (late, f"{late}.metadata", timeless, other, f"{early}.provenance", f"{early}.asc"):
        assert way.get(path)[0] in (403, 404), path
    assert way.sink.accepted == 0


def test_nothing_else_is_answered(way):
    others = (
        *("/", "/simple", "/simple/", "/search?q=x", "/rss/packages.xml", "/pypi", "/simple/dep/x"),
        *("/packages/dep-1.0-py3-none-any.whl", "/integrity/dep/1.0/x/provenance", "/legacy/"),
        *("/simple/dep/../tested/", "/simple/%2e%2e/pypi/tested/json", "/simple/a%2Fb/"),
    )
    for path in others:
        assert way.get(path)[0] == 403, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert way.ask(f"{method} /simple/dep/ HTTP/1.1").startswith(b"HTTP/1.1 403")
    assert way.tunnel(FILES, way.sink.port)[0] == 403
    assert (way.origin.accepted, way.sink.accepted) == (0, 0)


def test_bytes_that_are_not_what_the_index_says_do_not_pass(index, entered):
    path = index.add_wheel("dep", "1.1", EARLY)
    index.files["/packages/dep-1.1-py3-none-any.whl"] = lambda _: ("x/x", b"something else")
    way = entered()
    status, body = way.get(path)
    assert status == 502
    assert b"something else" not in body
    assert any("is not what the index says it is" in each for each in way.reasons("index"))
    assert list(way.log.with_suffix(".index").rglob("sha256-*")) == []


def test_a_file_with_a_marker_deep_inside_does_not_pass(index, entered):
    vendored = tarball({}, {"a/fix.py": f"def {MARKER}(): pass"})
    path = index.add_wheel("dep", "1.1", EARLY, {"dep/vendor.tgz": vendored})
    way = entered()
    for _ in range(2):
        assert way.get(path) == (404, b"not in this index\n")
    assert way.reasons("index") == ["the file has a marker of what is to be hidden"] * 2
    assert len(way.sink.asked) == 1
    assert entered(markers=[]).get(path)[0] == 200


def test_upstream_hears_nothing_of_what_the_client_says(way):
    said = "Range: bytes=0-1\r\nIf-None-Match: x\r\nUser-Agent: secret\r\nCookie: secret\r\n"
    file = json.loads(way.get("/simple/dep/", headers=said)[1])["files"][0]
    _, content, _ = wheel("dep", "1.0")
    answer = way.ask(f"GET {file['url']}?secret HTTP/1.1", headers=said)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(content)
    assert b"etag" not in answer.lower()
    heads = json.dumps(way.origin.heads + way.sink.heads)
    assert len(way.origin.heads + way.sink.heads) == 2
    assert "secret" not in heads
    assert "Range" not in heads
    assert "If-None" not in heads


def test_an_episode_is_answered_the_same_again_and_so_is_its_replay(
    index, entered, opened, registry
):
    way = entered()
    before = way.get("/simple/dep/")
    url = json.loads(before[1])["files"][0]["url"]
    content = way.get(url)
    assert way.get("/simple/never/")[0] == 404
    index.add_wheel("dep", "1.5", EARLY)
    index.add_wheel("never", "1.0", EARLY)
    index.files.clear()
    assert (way.get("/simple/dep/"), way.get(url)) == (before, content)
    assert way.get("/simple/never/")[0] == 404
    assert len(entered().filenames()) == 2
    replay = entered(frozen=way.log.with_suffix(".index"))
    assert (replay.get("/simple/dep/"), replay.get(url)) == (before, content)
    assert replay.get("/simple/never/")[0] == 404
    assert replay.get("/simple/tested/")[0] == 404
    assert replay.get(f"{url}.metadata")[0] == 404  # which nobody asked for then
    assert (replay.origin.accepted, replay.sink.accepted) == (0, 0)


def test_credentials_are_for_the_index_alone(index, entered):
    way = entered(user="a%40b:secret@")
    url = json.loads(way.get("/simple/dep/")[1])["files"][0]["url"]
    assert way.get(url)[0] == 200
    assert [each.get("Authorization") for each in way.origin.heads] == ["Basic YUBiOnNlY3JldA=="]
    assert [each.get("Authorization") for each in way.sink.heads] == [None]
    kept = "".join(path.read_text() for path in way.log.parent.rglob("*.json*"))
    assert "secret" not in kept + json.dumps(way.records())


@pytest.mark.parametrize("as_of", [None, "", "yesterday", "2020-01-01", "2020-01-01T00:00:00"])
def test_without_a_date_there_is_no_episode(entered, index, as_of):
    with pytest.raises(UsageError, match="as of a date"):
        entered(as_of=as_of)


def test_a_record_of_another_date_or_of_none_is_refused(index, entered, tmp_path):
    way = entered()
    frozen = way.log.with_suffix(".index")
    with pytest.raises(UsageError, match="another index"):
        entered(frozen=frozen, as_of="2021-01-01T00:00:00Z")
    with pytest.raises(UsageError, match="no record"):
        entered(frozen=tmp_path / "nowhere")


def test_packuments_and_tarballs(npm, entered):
    npm.add("@x/dep", "1.0.0", EARLY, dependencies={"y": "git+https://nowhere.example/y"})
    npm.add("@x/dep", "2.0.0", LATE)
    npm.add("@x/dep", "1.0.1", None)
    npm.add("@x/tested", "1.0.0", EARLY)
    way = entered(NPM)
    for path in ("/@x/dep", "/@x%2fdep", "/@x%2Fdep"):
        status, body = way.get(path, accept="application/vnd.npm.install-v1+json")
        assert (status, [*json.loads(body)["versions"]]) == (200, ["1.0.0"]), path
    told = json.loads(way.get("/@x%2fdep", accept="*/*")[1])
    assert told["dist-tags"] == {"latest": "1.0.0"}
    url = told["versions"]["1.0.0"]["dist"]["tarball"]
    start = f"https://{ORIGIN}:{way.origin.port}"
    manifest = {"name": "@x/dep", "version": "1.0.0"}
    manifest |= {"dependencies": {"y": "git+https://nowhere.example/y"}}
    assert way.get(url.removeprefix(start)) == (200, tarball(manifest))
    for path in (
        "/@x/tested",
        "/@X%2fTested",
        "/@x/tested/latest",
        "/@x/tested/-/tested-1.0.0.tgz",
    ):
        assert way.get(path) == (404, b"not in this index\n"), path
    for path in ("/@x/dep/-/dep-2.0.0.tgz", "/@x/dep/-/dep-1.0.1.tgz", "/@x/dep/2.0.0"):
        assert way.get(path)[0] == 404, path
    for path in ("/", "/-/v1/search", "/-/all", "/tarballs/@x-dep-2.0.0.tgz", "/-/ping"):
        assert way.get(path)[0] == 403, path


def test_a_tarball_that_is_not_what_its_integrity_says_does_not_pass(npm, entered):
    npm.add("dep", "1.0.0", EARLY, dist={"integrity": f"sha512-{'A' * 86}=="})
    npm.add("dep", "1.0.1", EARLY, files={"vendor/x.js": f"// {MARKER}"})
    way = entered(NPM)
    assert way.get("/dep/-/dep-1.0.0.tgz")[0] == 502
    assert way.get("/dep/-/dep-1.0.1.tgz")[0] == 404


def test_an_index_as_of_a_date_is_as_guarded_as_any_host(way):
    for wrong in (f"Host: {FILES}\r\n", "Upgrade: websocket\r\nConnection: upgrade\r\n"):
        assert way.ask("GET /simple/dep/ HTTP/1.1", headers=wrong)[9:12] in (b"400", b"403")
    with pytest.raises((ssl.SSLError, OSError)):
        way.tls(FILES)
    assert way.origin.accepted == 0
