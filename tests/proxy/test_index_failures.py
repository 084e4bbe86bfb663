"""An index that fails, or is asked for more than may be, hands nothing over."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from registries import JSON, tarball

from codegym.network import Proxy
from codegym.resources import data_root

pytestmark = pytest.mark.network

ORIGIN, FILES = "origin.test.example", "sink.test.example"
EARLY = "2019-06-01T00:00:00.000Z"
PIP = '[[allow]]\nname = "index"\nregistry = "pip"\nas_of = "task"\n'


def test_a_proxy_that_dies_goes_on_with_the_record(index, entered, proxy, wait_until):
    way = entered()
    before = way.filenames()
    index.add_wheel("dep", "1.5", EARLY)
    killed = proxy.pid
    os.kill(killed, 9)
    wait_until(lambda: proxy.pid not in (None, killed), "a new process")
    with proxy._lock:
        assert way.filenames() == before


def test_an_upstream_that_fails_is_no_answer(index, entered):
    index.pages["/simple/odd/"] = lambda _: ("text/html", b"<html>")
    index.pages["/simple/list/"] = lambda _: (JSON, b"[]")
    index.pages["/simple/deep/"] = lambda _: (JSON, b"[" * 100_000)
    way = entered()
    assert way.get("/simple/odd/")[0] == 502
    assert way.get("/simple/deep/")[0] == 502
    assert way.get("/simple/list/")[0] == 404
    file = index.add_wheel("gone", "1.0", EARLY)
    index.files.clear()
    assert way.get(file)[0] == 502
    index.pages["/simple/odd/"] = lambda _: (JSON, b'{"name": "odd", "files": []}')
    assert way.get("/simple/odd/")[0] == 200
    told = [(each["host"], each["port"]) for each in way.records() if each["event"] == "index"]
    assert told == [(ORIGIN, way.origin.port)] * 4
    assert way.reasons("upstream") == []  # it could be reached


def test_what_upstream_writes_oddly_spoils_no_page(index, entered):
    index.add_wheel("dep", "1.1", EARLY, yanked="\ud800<", url="//[")
    index.add_wheel("dep", "1.2", EARLY, yanked="\ud800<")
    way = entered()
    assert [name[:7] for name in way.filenames()] == ["dep-1.0", "dep-1.2"]
    assert b'data-yanked="?&lt;"' in way.get("/simple/dep/", accept="text/html")[1]


def test_links_to_where_nobody_may_go_lead_nowhere(index, entered, servers):
    private = f"https://private.test.example:{servers[0].port + 1}/x"
    path = index.add_wheel("dep", "1.1", EARLY, url=private)
    index.add_wheel("dep", "1.2", EARLY, url=f"https://127.0.0.1:{servers[1].port}/x")
    index.add_wheel("dep", "1.3", EARLY, url=f"http://{FILES}:{servers[1].port}/x")
    index.add_wheel("dep", "1.4", EARLY, url=f"https://{FILES}:{servers[1].port}/redirect")
    way = entered()
    servers[1].accepted = 0
    assert [name[:7] for name in way.filenames()] == ["dep-1.0", "dep-1.1", "dep-1.4"]
    assert way.get(path)[0] == 502
    assert any("127.0.0.1 is not a public address" in each for each in way.reasons("upstream"))
    assert servers[1].accepted == 0


def test_redirects_of_upstream_are_not_followed(index, entered, servers):
    path = index.add_wheel("dep", "1.4", EARLY, url=f"https://{FILES}:{servers[1].port}/redirect")
    way = entered()
    assert way.get(path)[0] == 502
    assert any("answers 302" in each for each in way.reasons("index"))


def test_files_are_within_the_limits(index, entered):
    path = index.add("dep", "dep-1.1.tar.gz", tarball({}, {"x": os.urandom(300_000)}), EARLY)
    path = f"/simple/dep/{path}/dep-1.1.tar.gz"
    small = entered("[limits]\nmax_response_bytes = 200_000\n" + PIP)
    assert small.get(path)[0] == 502
    assert any("more than 200000 bytes" in each for each in small.reasons("index"))


def test_what_an_index_fetches_is_budgeted_whether_or_not_the_client_takes_it(index, entered):
    way = entered("[limits]\nmax_download_bytes = 400_000\n" + PIP)
    statuses = []
    for name in ("a", "b"):
        digest = index.add(name, f"{name}-1.tar.gz", os.urandom(300_000), EARLY)
        statuses.append(way.head(f"/simple/{name}/{digest}/{name}-1.tar.gz")[0])
    assert statuses == [200, 502]
    assert re.search(r"more than \d{5} bytes", way.reasons("index")[0])


#: The proxy as it is, but for an index that fails in episodes whose policy says so.
FAILING = """
import sys
sys.path.append({root!r})
from proxy.__main__ import main
from proxy.index import {module}

def failing(self, *_, **__):
    raise RuntimeError("injected")

{module}.{what} = failing
main()
"""


@pytest.mark.parametrize(
    "what", ["service.Index._found", "store.Store._wrong", "scan.Scanner.finds", "pip.Pip.listing"]
)
def test_an_index_that_fails_hands_nothing_over(
    index, entered, interpreter, config, tmp_path, what
):
    program, (module, rest) = tmp_path / "program.py", what.split(".", 1)
    root = str(data_root("proxy").parent)
    program.write_text(FAILING.format(root=root, module=module, what=rest))
    path = index.add_wheel("dep", "1.1", EARLY)
    with Proxy(interpreter.python, config, program=program) as failing:
        way = entered(proxy=failing)
        status, body = way.get(path)
        assert status in (0, 502)
        assert b"PK" not in body
        assert list(way.log.with_suffix(".index").rglob("sha256-*")) == []


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
