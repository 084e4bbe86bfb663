"""A live index as of a date: what is to be hidden is not there, whichever way it is asked for."""

import json
import os
import re
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from registries import JSON, NpmRegistry, PipIndex, tarball, wheel

from codegym.errors import UsageError

pytestmark = pytest.mark.network

ORIGIN, FILES = "origin.test.example", "sink.test.example"
AS_OF, EARLY, LATE = "2020-01-01T00:00:00Z", "2019-06-01T00:00:00.000Z", "2020-06-01T00:00:00.000Z"
MARKER = "the_fix_of_the_task"
PIP = '[[allow]]\nname = "index"\nregistry = "pip"\nas_of = "task"\n'
NPM = PIP.replace('"pip"', '"npm"')


@pytest.fixture
def index(registry):
    for server in registry:
        server.pages = {}
    pages, files = (server.pages for server in registry)
    index = PipIndex(pages, files, f"https://{FILES}:{registry[1].port}")
    index.add_wheel("dep", "1.0", EARLY)
    index.add_wheel("dep", "2.0", LATE)
    index.add_wheel("tested", "1.0", EARLY)
    return index


@pytest.fixture
def npm(registry):
    registry[0].pages = {}
    return NpmRegistry(registry[0].pages, f"https://{ORIGIN}:{registry[0].port}")


@pytest.fixture
def entered(opened, proxy, registry):
    """Opens an episode whose policy has a registry as of a date."""

    def make(text=PIP, path="/simple/", user="", **more):
        address = f"https://{user}{ORIGIN}:{registry[0].port}{path}"
        registries = {"pip": [address], "npm": [address.removesuffix("simple/")]}
        usual = {"as_of": AS_OF, "denied": ["tested", "@x/tested"], "markers": [MARKER]}
        return opened(proxy, text, registry, registries=registries, **(usual | more))

    return make


@pytest.fixture
def way(index, entered):
    return entered()


def get(way, path, *, accept=JSON, headers=""):
    """The status and body of one request."""
    answer = way.ask(f"GET {path} HTTP/1.1", headers=f"Accept: {accept}\r\n{headers}")
    return int(answer[9:12] or 0), answer.partition(b"\r\n\r\n")[2]


def head(way, path):
    """The status and announced size of an answer without a body."""
    tls = way.tls()
    tls.sendall(f"HEAD {path} HTTP/1.1\r\nHost: {ORIGIN}:{way.origin.port}\r\n\r\n".encode())
    answer = tls.recv(65536).decode()
    return int(answer[9:12]), int(re.search(r"(?i)content-length: (\d+)", answer)[1])


def filenames(way, project="dep"):
    status, body = get(way, f"/simple/{project}/")
    assert status == 200
    return [file["filename"] for file in json.loads(body)["files"]]


def reasons(way, event):
    return [record["reason"] for record in way.records() if record["event"] == event]


def test_a_page_lists_what_was_there_in_both_forms(way):
    status, body = get(way, "/simple/Dep/")
    (file,) = json.loads(body)["files"]
    html = get(way, "/simple/dep/", accept="text/html")[1].decode()
    assert status == 200
    assert file["filename"] == "dep-1.0-py3-none-any.whl"
    assert file["url"] in html
    assert "2.0" not in html
    assert b"nowhere" not in body
    assert "provenance" not in file
    assert json.loads(body)["versions"] == ["1.0"]
    assert json.loads(get(way, "/pypi/dep/json")[1])["releases"].keys() == {"1.0"}
    assert get(way, "/pypi/dep/1.0/json")[0] == 200
    assert get(way, "/pypi/dep/2.0/json")[0] == 404
    assert way.origin.asked == [("GET", "/simple/dep/", f"{ORIGIN}:{way.origin.port}")]  # once


def test_a_file_and_its_metadata_come_from_where_the_index_says(way):
    file = json.loads(get(way, "/simple/dep/")[1])["files"][0]
    _, content, metadata = wheel("dep", "1.0")
    assert get(way, file["url"]) == (200, content)
    assert get(way, f"{file['url']}.metadata") == (200, metadata)
    assert get(way, file["url"]) == (200, content)
    assert [path for _, path, _ in way.sink.asked] == [
        f"/packages/{file['filename']}", f"/packages/{file['filename']}.metadata"
    ]  # fmt: skip
    assert head(way, file["url"]) == (200, len(content))
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
    never = get(way, "/simple/never/")
    for form in forms:
        assert get(way, form) == never == (404, b"not in this index\n"), form
    assert not any("tested" in path for _, path, _ in way.origin.asked)
    assert way.sink.accepted == 0
    assert len(reasons(way, "index")) == len(forms) + 1
    assert "the project 'tested' is denied" in reasons(way, "index")


def test_only_what_is_listed_is_served(index, entered):
    late = index.add_wheel("dep", "1.0.post1", LATE)
    timeless = index.add_wheel("dep", "0.9", EARLY, **{"upload-time": ...})
    way = entered()
    early = json.loads(get(way, "/simple/dep/")[1])["files"][0]["url"]
    other = early.replace(early.split("/")[3], "0" * 64)
    for path in (late, f"{late}.metadata", timeless, other, f"{early}.provenance", f"{early}.asc"):
        assert get(way, path)[0] in (403, 404), path
    assert way.sink.accepted == 0


def test_nothing_else_is_answered(way):
    others = (
        *("/", "/simple", "/simple/", "/search?q=x", "/rss/packages.xml", "/pypi", "/simple/dep/x"),
        *("/packages/dep-1.0-py3-none-any.whl", "/integrity/dep/1.0/x/provenance", "/legacy/"),
        *("/simple/dep/../tested/", "/simple/%2e%2e/pypi/tested/json", "/simple/a%2Fb/"),
    )
    for path in others:
        assert get(way, path)[0] == 403, path
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert way.ask(f"{method} /simple/dep/ HTTP/1.1").startswith(b"HTTP/1.1 403")
    assert way.tunnel(FILES, way.sink.port)[0] == 403
    assert (way.origin.accepted, way.sink.accepted) == (0, 0)


def test_bytes_that_are_not_what_the_index_says_do_not_pass(index, entered):
    path = index.add_wheel("dep", "1.1", EARLY)
    index.files["/packages/dep-1.1-py3-none-any.whl"] = lambda _: ("x/x", b"something else")
    way = entered()
    status, body = get(way, path)
    assert status == 502
    assert b"something else" not in body
    assert any("is not what the index says it is" in each for each in reasons(way, "index"))
    assert list(way.log.with_suffix(".index").rglob("sha256-*")) == []


def test_a_file_with_a_marker_deep_inside_does_not_pass(index, entered):
    vendored = tarball({}, {"a/fix.py": f"def {MARKER}(): pass"})
    path = index.add_wheel("dep", "1.1", EARLY, {"dep/vendor.tgz": vendored})
    way = entered()
    for _ in range(2):
        assert get(way, path) == (404, b"not in this index\n")
    assert reasons(way, "index") == ["the file has a marker of what is to be hidden"] * 2
    assert len(way.sink.asked) == 1
    assert get(entered(markers=[]), path)[0] == 200


def test_upstream_hears_nothing_of_what_the_client_says(way):
    said = "Range: bytes=0-1\r\nIf-None-Match: x\r\nUser-Agent: secret\r\nCookie: secret\r\n"
    file = json.loads(get(way, "/simple/dep/", headers=said)[1])["files"][0]
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
    before = get(way, "/simple/dep/")
    url = json.loads(before[1])["files"][0]["url"]
    content = get(way, url)
    assert get(way, "/simple/never/")[0] == 404
    index.add_wheel("dep", "1.5", EARLY)
    index.add_wheel("never", "1.0", EARLY)
    index.files.clear()
    assert (get(way, "/simple/dep/"), get(way, url)) == (before, content)
    assert get(way, "/simple/never/")[0] == 404
    assert len(filenames(entered())) == 2
    replay = entered(frozen=way.log.with_suffix(".index"))
    assert (get(replay, "/simple/dep/"), get(replay, url)) == (before, content)
    assert get(replay, "/simple/never/")[0] == 404
    assert get(replay, "/simple/tested/")[0] == 404
    assert get(replay, f"{url}.metadata")[0] == 404  # which nobody asked for then
    assert (replay.origin.accepted, replay.sink.accepted) == (0, 0)


def test_a_proxy_that_dies_goes_on_with_the_record(index, entered, proxy, wait_until):
    way = entered()
    before = filenames(way)
    index.add_wheel("dep", "1.5", EARLY)
    killed = proxy.pid
    os.kill(killed, 9)
    wait_until(lambda: proxy.pid not in (None, killed), "a new process")
    with proxy._lock:
        assert filenames(way) == before


def test_an_upstream_that_fails_is_no_answer(index, entered):
    index.pages["/simple/odd/"] = lambda _: ("text/html", b"<html>")
    index.pages["/simple/list/"] = lambda _: (JSON, b"[]")
    index.pages["/simple/deep/"] = lambda _: (JSON, b"[" * 100_000)
    way = entered()
    assert get(way, "/simple/odd/")[0] == 502
    assert get(way, "/simple/deep/")[0] == 502
    assert get(way, "/simple/list/")[0] == 404
    file = index.add_wheel("gone", "1.0", EARLY)
    index.files.clear()
    assert get(way, file)[0] == 502
    index.pages["/simple/odd/"] = lambda _: (JSON, b'{"name": "odd", "files": []}')
    assert get(way, "/simple/odd/")[0] == 200
    told = [(each["host"], each["port"]) for each in way.records() if each["event"] == "index"]
    assert told == [(ORIGIN, way.origin.port)] * 4
    assert reasons(way, "upstream") == []  # it could be reached


def test_links_to_where_nobody_may_go_lead_nowhere(index, entered, servers):
    private = f"https://private.test.example:{servers[0].port + 1}/x"
    path = index.add_wheel("dep", "1.1", EARLY, url=private)
    index.add_wheel("dep", "1.2", EARLY, url=f"https://127.0.0.1:{servers[1].port}/x")
    index.add_wheel("dep", "1.3", EARLY, url=f"http://{FILES}:{servers[1].port}/x")
    index.add_wheel("dep", "1.4", EARLY, url=f"https://{FILES}:{servers[1].port}/redirect")
    way = entered()
    servers[1].accepted = 0
    assert [name[:7] for name in filenames(way)] == ["dep-1.0", "dep-1.1", "dep-1.4"]
    assert get(way, path)[0] == 502
    assert any("127.0.0.1 is not a public address" in each for each in reasons(way, "upstream"))
    assert servers[1].accepted == 0


def test_redirects_of_upstream_are_not_followed(index, entered, servers):
    path = index.add_wheel("dep", "1.4", EARLY, url=f"https://{FILES}:{servers[1].port}/redirect")
    way = entered()
    assert get(way, path)[0] == 502
    assert any("answers 302" in each for each in reasons(way, "index"))


def test_files_are_within_the_limits(index, entered):
    path = index.add("dep", "dep-1.1.tar.gz", tarball({}, {"x": os.urandom(300_000)}), EARLY)
    path = f"/simple/dep/{path}/dep-1.1.tar.gz"
    small = entered("[limits]\nmax_response_bytes = 200_000\n" + PIP)
    assert get(small, path)[0] == 502
    assert any("more than 200000 bytes" in each for each in reasons(small, "index"))


def test_what_an_index_fetches_is_budgeted_whether_or_not_the_client_takes_it(index, entered):
    way = entered("[limits]\nmax_download_bytes = 400_000\n" + PIP)
    statuses = []
    for name in ("a", "b"):
        digest = index.add(name, f"{name}-1.tar.gz", os.urandom(300_000), EARLY)
        statuses.append(head(way, f"/simple/{name}/{digest}/{name}-1.tar.gz")[0])
    assert statuses == [200, 502]
    assert re.search(r"more than \d{5} bytes", reasons(way, "index")[0])


def test_credentials_are_for_the_index_alone(index, entered):
    way = entered(user="a%40b:secret@")
    url = json.loads(get(way, "/simple/dep/")[1])["files"][0]["url"]
    assert get(way, url)[0] == 200
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
        status, body = get(way, path, accept="application/vnd.npm.install-v1+json")
        assert (status, [*json.loads(body)["versions"]]) == (200, ["1.0.0"]), path
    told = json.loads(get(way, "/@x%2fdep", accept="*/*")[1])
    assert told["dist-tags"] == {"latest": "1.0.0"}
    url = told["versions"]["1.0.0"]["dist"]["tarball"]
    start = f"https://{ORIGIN}:{way.origin.port}"
    manifest = {"name": "@x/dep", "version": "1.0.0"}
    manifest |= {"dependencies": {"y": "git+https://nowhere.example/y"}}
    assert get(way, url.removeprefix(start)) == (200, tarball(manifest))
    for path in (
        "/@x/tested",
        "/@X%2fTested",
        "/@x/tested/latest",
        "/@x/tested/-/tested-1.0.0.tgz",
    ):
        assert get(way, path) == (404, b"not in this index\n"), path
    for path in ("/@x/dep/-/dep-2.0.0.tgz", "/@x/dep/-/dep-1.0.1.tgz", "/@x/dep/2.0.0"):
        assert get(way, path)[0] == 404, path
    for path in ("/", "/-/v1/search", "/-/all", "/tarballs/@x-dep-2.0.0.tgz", "/-/ping"):
        assert get(way, path)[0] == 403, path


def test_a_tarball_that_is_not_what_its_integrity_says_does_not_pass(npm, entered):
    npm.add("dep", "1.0.0", EARLY, dist={"integrity": f"sha512-{'A' * 86}=="})
    npm.add("dep", "1.0.1", EARLY, files={"vendor/x.js": f"// {MARKER}"})
    way = entered(NPM)
    assert get(way, "/dep/-/dep-1.0.0.tgz")[0] == 502
    assert get(way, "/dep/-/dep-1.0.1.tgz")[0] == 404


def test_an_index_as_of_a_date_is_as_guarded_as_any_host(way):
    for wrong in (f"Host: {FILES}\r\n", "Upgrade: websocket\r\nConnection: upgrade\r\n"):
        assert way.ask("GET /simple/dep/ HTTP/1.1", headers=wrong)[9:12] in (b"400", b"403")
    with pytest.raises((ssl.SSLError, OSError)):
        way.tls(FILES)
    assert way.origin.accepted == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_what_it_was_after_many_pages_and_large_files(index, entered, proxy):
    content = bytes(256 << 20)
    digest = index.add("dep", "dep-1.1.tar", content, EARLY)
    way = entered("[limits]\nmax_requests = 20_000\n" + PIP)
    tls = way.tls()
    assert way.ask("GET /simple/dep/ HTTP/1.1", tls=tls).startswith(b"HTTP/1.1 200")
    before = resident(proxy.pid)
    for _ in range(10_000):
        assert way.ask("GET /simple/dep/ HTTP/1.1", tls=tls).startswith(b"HTTP/1.1 200")
    with ThreadPoolExecutor(4) as pool:
        sizes = list(pool.map(lambda _: swallowed(way, digest), range(4)))
    assert min(sizes) > len(content)
    print(f"MiB before: {before}, at most: {resident(proxy.pid, most=True)}")
    assert resident(proxy.pid, most=True) <= 1.3 * before


def resident(pid, *, most=False):
    """MiB of a process that are, or at most ever were, in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"Vm{'HWM' if most else 'RSS'}:\s+(\d+)", status)[1]) / 1024


def swallowed(way, digest):
    """The bytes of an answer whose body is a large file."""
    tls, path = way.tls(), f"/simple/dep/{digest}/dep-1.1.tar"
    there = f"{ORIGIN}:{way.origin.port}"
    tls.sendall(f"GET {path} HTTP/1.1\r\nHost: {there}\r\nConnection: close\r\n\r\n".encode())
    tls.settimeout(300)
    buffer, size = bytearray(1 << 20), 0
    while more := tls.recv_into(buffer):
        size += more
    return size
