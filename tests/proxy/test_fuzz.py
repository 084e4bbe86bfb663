"""A million odd names: what is not on the list never matches, nor after mitmproxy has read it."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_names import POLICY, odd_names, on_the_list

from proxy.rules import Facts, Spent, decide, decide_tls, decide_tunnel

ROOT = Path(__file__).parents[2]
#: Runs where mitmproxy is: names are bytes on the wire, read by its parser, judged by our rules.
READ = """
import sys
sys.path.extend({paths!r})
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.net.http.http1 import read_request_head
from odd_names import POLICY, odd_names, on_the_list
from proxy.rules import Spent, decide_tunnel
passed = 0
for name in odd_names({seed}, {count}):
    try:
        received = ReceiveBuffer()
        received += f"CONNECT {{name}}:443 HTTP/1.1\\r\\nHost: {{name}}\\r\\n\\r\\n".encode()
        request = read_request_head([bytes(line) for line in received.maybe_extract_lines()])
    except ValueError:
        continue
    if decide_tunnel(POLICY, request.host, request.port, Spent()).allowed:
        passed += 1
        # Spaces and tabs around a target are no part of it.
        assert on_the_list(name.strip("\\t ")) and request.port == 443, (name, request.host)
print(passed)
"""


def judged(name, other):
    """Each way in which names could pass."""
    same = Facts(name, 443, name, (name,), "GET", "/")
    mixed = Facts(name, 443, name, (other,), "GET", "/")
    http2 = Facts(name, 443, name, (), "GET", "/", authority=other, http2=True)
    yield (name,), decide_tunnel(POLICY, name, 443, Spent())
    yield (name,), decide(POLICY, same, Spent())
    yield (name, other), decide_tls(POLICY, name, 443, other, Spent())
    yield (name, other), decide(POLICY, mixed, Spent())
    yield (name, other), decide(POLICY, http2, Spent())


def check(seed, count):
    """Judge so many names, each also with the one before; how many verdicts were "yes"."""
    passed, other = 0, "registry.example.org"
    for name in odd_names(seed, count):
        for said, verdict in judged(name, other):
            if verdict.allowed:
                passed += 1
                plain = {each.removesuffix(":443").removesuffix(".").lower() for each in said}
                assert len(plain) == 1, said
                assert all(on_the_list(each.removesuffix(":443")) for each in said), said
        other = name
    return passed


def test_some_names_match_else_this_could_not_fail():
    assert check(0, 3000) > 100


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_of_a_million_odd_names_nothing_off_the_list_matches(seed):
    assert check(seed, 10_000) > 100


@pytest.mark.network
@pytest.mark.parametrize(
    "count", [5_000, pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])]
)
def test_what_mitmproxy_reads_is_what_is_judged(interpreter, count):
    paths = [str(ROOT), str(ROOT / "tests")]
    script = READ.format(paths=paths, seed=count, count=count)
    command = [str(interpreter.python), "-I", "-B", "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > count // 100
