"""Episodes that come and go, a proxy that fails, and what each may use at most."""

import array
import os
import signal
import socket
import ssl
import tempfile
import threading
from pathlib import Path

import pytest

from codegym.errors import SandboxError, UsageError
from codegym.network import NetworkPolicy, Proxy

pytestmark = pytest.mark.network

ORIGIN = "origin.test.example"
HELLO = b"hello from the origin"
NOTHING = 'summary = "Nothing"'
#: Hooks, and whether the origin was reached by then (for what was allowed).
HOOKS = {
    "http_connect": False, "next_layer": False, "tls_start_client": False, "requestheaders": False,
    "request": False, "server_connect": False, "tls_start_server": True, "responseheaders": True,
}  # fmt: skip
#: The proxy as it is, but for hooks that fail in episodes whose policy says so.
FAILING = """
import sys
sys.path.append({root!r})
from proxy import addon
from proxy.__main__ import main

def failing(name, hook):
    def answer(self, data):
        if self._account.policy.summary == name:
            raise RuntimeError("injected")
        hook(self, data)
    return answer

for name in {hooks!r}:
    setattr(addon.Addon, name, failing(name, getattr(addon.Addon, name)))
main()
"""


@pytest.fixture(scope="module")
def failing(interpreter, config, tmp_path_factory):
    from codegym.resources import data_root

    program = tmp_path_factory.mktemp("failing") / "program.py"
    program.write_text(FAILING.format(root=str(data_root("proxy").parent), hooks=list(HOOKS)))
    with Proxy(interpreter.python, config, program=program) as running:
        yield running


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_fails_denies(failing, opened, policy_text, hook, wait_until):
    way = opened(failing, f'summary = "{hook}"\n{policy_text}')
    try:
        answer = way.ask()
    except (AssertionError, OSError):  # no tunnel, or no TLS in it
        answer = b""
    assert HELLO not in answer
    if HOOKS[hook]:
        wait_until(lambda: way.origin.accepted, "a connection, so that the hook was asked")
    assert way.origin.accepted == HOOKS[hook]
    assert way.origin.asked == [] or hook == "responseheaders"


def test_hooks_that_do_not_fail_are_as_ever(failing, opened, policy_text):
    assert opened(failing, policy_text).ask().endswith(HELLO)


@pytest.fixture(scope="module")
def mortal(interpreter, config):
    """A proxy that tests may kill."""
    with Proxy(interpreter.python, config) as running:
        yield running


def test_a_killed_proxy_is_no_way_out_until_it_runs_again(mortal, opened, policy_text, wait_until):
    way = opened(mortal, policy_text)
    tls = way.tls()
    assert way.ask(tls=tls).endswith(HELLO)
    with mortal._lock:  # so that it is not started again yet
        killed = mortal.pid
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: mortal.pid is None, "the end of the process")
        with pytest.raises(ConnectionRefusedError):
            way.connect()
        assert way.ask(tls=tls) == b""
        assert way.origin.accepted == 1
    wait_until(lambda: mortal.pid not in (None, killed), "a new process")
    with mortal._lock:
        pass  # it has its episodes again
    assert way.ask().endswith(HELLO)  # by the certificate that the client has already
    assert way.tunnel("sink.test.example")[0] == 403


def test_an_episode_whose_folder_is_gone_is_no_bar_to_others_of_a_new_process(
    mortal, opened, policy_text, wait_until
):
    gone, stays = opened(mortal, policy_text), opened(mortal, policy_text)
    (gone.folder / "proxy.sock").unlink()
    gone.folder.rmdir()
    killed = mortal.pid
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: mortal.pid not in (None, killed), "a new process")
    with mortal._lock:
        assert stays.ask().endswith(HELLO)


def test_a_proxy_that_does_not_answer_is_replaced(mortal, opened, policy_text, wait_until):
    way = opened(mortal, policy_text)
    lost = NetworkPolicy(way.folder, NOTHING, ())
    stopped = mortal.pid
    os.kill(stopped, signal.SIGSTOP)
    mortal._control.settimeout(0.2)
    with pytest.raises(SandboxError, match="does not answer"):
        mortal.add("lost", lost, folder=way.folder, log=way.log)
    wait_until(lambda: mortal.pid not in (None, stopped), "a new process")
    assert opened(mortal, policy_text).ask().endswith(HELLO)
    assert way.ask().endswith(HELLO)


def test_a_proxy_ends_with_whoever_started_it(
    interpreter, opened, wait_until, tmp_path, monkeypatch
):
    deep = tmp_path / ("deep" * 30)  # longer than a socket's address may be
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    proxy = Proxy(interpreter.python)
    proxy.start()
    way = opened(proxy, NOTHING)
    pid, folder = proxy.pid, proxy.folder
    proxy._process.stdin.close()
    wait_until(lambda: proxy.pid != pid, "the end of the process")
    proxy.stop()
    assert proxy.pid is None
    assert not folder.exists()
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        way.connect()
    with pytest.raises(SandboxError, match="start it"):
        proxy.add("a", NetworkPolicy(folder, NOTHING, ()), folder=folder, log=folder / "log")


def test_a_proxy_that_cannot_start_says_why(interpreter, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("raise SystemExit('no such luck')\n")
    with pytest.raises(SandboxError, match="no such luck"):
        Proxy(interpreter.python, program=program).start()


def test_removing_an_episode_ends_its_connections_and_no_others(proxy, opened, policy_text):
    gone, stays = opened(proxy, policy_text), opened(proxy, policy_text)
    first, second = gone.tls(), stays.tls()
    assert gone.ask(tls=first).endswith(HELLO)
    proxy.remove(gone.name)
    proxy.remove(gone.name)  # again does nothing
    assert gone.ask(tls=first) == b""
    assert list(gone.folder.iterdir()) == []
    assert stays.ask(tls=second).endswith(HELLO)
    assert stays.ask().endswith(HELLO)


def test_a_policy_changes_by_removing_and_adding(proxy, opened, policy_text):
    before = opened(proxy, policy_text)
    tls = before.tls()
    assert before.ask(tls=tls).endswith(HELLO)
    proxy.remove(before.name)
    policy = NetworkPolicy(before.folder, NOTHING, ())
    proxy.add(before.name, policy, folder=before.folder, log=before.log)
    assert before.ask(tls=tls) == b""
    assert before.tunnel()[0] == 403


def test_each_episode_has_a_policy_log_and_authority_of_its_own(proxy, opened, policy_text):
    one, other = opened(proxy, policy_text), opened(proxy, NOTHING)
    assert one.ask().endswith(HELLO)
    assert other.tunnel()[0] == 403
    assert one.denials() == []
    assert len(other.denials()) == 1
    one.certificate = other.certificate
    with pytest.raises(ssl.SSLCertVerificationError):
        one.tls()


def test_no_authoritys_key_is_in_any_file_that_matters(proxy, opened, policy_text, tmp_path):
    way = opened(proxy, policy_text)
    assert way.ask().endswith(HELLO)
    assert "PRIVATE" in proxy._added[way.name]["key"]
    assert "PRIVATE" not in way.certificate
    files = [path for folder in (tmp_path, proxy.folder) for path in folder.rglob("*")]
    regular = [path for path in files if path.is_file()]
    assert len(regular) >= 2
    assert [path for path in regular if b"PRIVATE" in path.read_bytes()] == []
    assert sorted(path.name for path in way.folder.iterdir()) == ["proxy.sock"]


def test_a_descriptor_that_is_sent_along_is_never_received(way):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        client = way.connect()
        sent = array.array("i", [writing])
        head = f"CONNECT {ORIGIN}:{way.origin.port} HTTP/1.1\r\n\r\n"
        client.sendmsg([head.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        os.close(writing)
        assert client.recv(12) == b"HTTP/1.1 200"
        assert pipe.read() == b""  # nobody has the other end any more


def test_what_cannot_be_written_down_does_not_pass(proxy, tmp_path, way):
    folder = tmp_path / "full"
    folder.mkdir()
    policy = NetworkPolicy(tmp_path, (tmp_path / "policy.toml").read_text(), ())
    proxy.add("full", policy, folder=folder, log=Path("/dev/full"))
    way.folder = folder
    assert way.tunnel()[0] == 0
    assert way.origin.accepted == 0
    proxy.remove("full")


def test_connections_are_capped_for_each_episode(proxy, opened, policy_text):
    way = opened(proxy, "[limits]\nmax_connections = 2\n" + policy_text)
    other = opened(proxy, policy_text)
    first = way.tls()
    assert way.tunnel()[0] == 200
    assert way.tunnel()[0] == 0
    assert way.ask(tls=first).endswith(HELLO)
    assert other.ask().endswith(HELLO)


def test_requests_are_budgeted(proxy, opened, policy_text):
    way = opened(proxy, "[limits]\nmax_requests = 3\n" + policy_text)
    tls = way.tls()  # the first
    answers = [way.ask(tls=tls)[9:12] for _ in range(4)]
    assert answers == [b"200", b"200", b"403", b"403"]
    assert len(way.origin.asked) == 2


def test_uploads_are_budgeted(proxy, opened, policy_text):
    text = f'[limits]\nmax_upload_bytes = 50_000\n{policy_text}methods = ["POST"]\n'
    way = opened(proxy, text)
    answer = way.ask("POST /post HTTP/1.1", headers="Content-Length: 99000\r\n", body=b"x" * 99000)
    assert answer == b""
    assert way.tunnel()[0] in (0, 403)


@pytest.mark.parametrize("path", ["/large", "/endless"])
def test_a_response_is_cut_at_its_limit(proxy, opened, policy_text, path):
    way = opened(proxy, "[limits]\nmax_response_bytes = 200_000\n" + policy_text)
    assert len(way.ask(f"GET {path} HTTP/1.1")) < 210_000
    assert way.denials() != []


def test_downloads_are_budgeted(proxy, opened, policy_text):
    way = opened(proxy, "[limits]\nmax_download_bytes = 400_000\n" + policy_text)
    assert len(way.ask("GET /large HTTP/1.1")) > 300_000
    assert len(way.ask("GET /large HTTP/1.1")) < 300_000
    assert way.tunnel()[0] == 403


def test_many_at_once_are_all_answered(way):
    answers = []

    def ask():
        answers.append(way.ask()[-21:])

    threads = [threading.Thread(target=ask) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [HELLO] * 24


def test_what_cannot_be_added_says_why(proxy, tmp_path, way):
    def add(text, name="x", folder=tmp_path, log=tmp_path / "x.log"):
        proxy.add(name, NetworkPolicy(tmp_path, text, ()), folder=folder, log=log)

    for text, why in (("allow = 1", "allow"), ('[[allow]]\nname = "a"\nhosts = ["*"]', "bare")):
        with pytest.raises(UsageError, match=why):
            add(text)
    with pytest.raises(UsageError, match="already"):
        add(NOTHING, name=way.name)
    with pytest.raises(SandboxError, match="No such file"):
        add(NOTHING, folder=tmp_path / "nowhere")
    with pytest.raises(SandboxError, match="No such file"):
        add(NOTHING, log=tmp_path / "nowhere" / "log")
    assert way.ask().endswith(HELLO)
