"""A verdict is "no" unless all names agree and a rule has them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.names import NameRefusedError, normalise
from proxy.rules import (
    Facts,
    Limits,
    Policy,
    Rule,
    Spent,
    decide,
    decide_tls,
    decide_tunnel,
    explain,
)

HOST = "registry.example.org"
POLICY = Policy(
    (
        Rule("index", (HOST,), paths=("/simple/**",)),
        Rule("files", ("*.files.example.org",), ports=(443, 8443)),
        Rule("upload", (HOST,), methods=("POST",), paths=("/upload",)),
    )
)
GOOD = Facts(HOST, 443, HOST, (HOST,), "GET", "/simple/a/")


def verdict(**changes):
    return decide(POLICY, replace(GOOD, **changes), Spent(requests=1))


def test_what_agrees_is_allowed_by_a_named_rule():
    assert (verdict().allowed, verdict().rule) == (True, "index")
    assert verdict(target="/simple/?a=b").rule == "index"
    assert verdict(method="POST", target="/upload", has_body=True).rule == "upload"
    assert verdict(hosts=(f"{HOST}:443",), sni=HOST.upper(), connect=f"{HOST}.").rule == "index"
    files = {"connect": "a.files.example.org", "sni": "a.files.example.org"}
    assert verdict(**files, hosts=("a.files.example.org:8443",), port=8443).rule == "files"
    assert verdict(http2=True, hosts=(), authority=HOST).allowed
    assert verdict(http2=True, authority=HOST).allowed


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"connect": "evil.example.org"}, "no rule has the host 'evil.example.org'"),
        ({"connect": f"evil-{HOST}"}, "no rule has the host"),
        ({"connect": f"{HOST}.evil.example"}, "no rule has the host"),
        ({"connect": "files.example.org"}, "no rule has the host"),  # a wildcard is not its apex
        ({"connect": "a.b.files.example.org"}, "no rule has the host"),
        ({"connect": "127.0.0.1"}, "IP address"),
        ({"connect": "registry.example.or\u0261"}, "not ASCII"),
        ({"connect": "\uff52egistry.example.org"}, "not ASCII"),
        ({"port": 22}, "not port 22"),
        ({"sni": None}, "no SNI"),
        ({"sni": ""}, "no SNI"),
        ({"sni": "evil.example.org"}, "SNI"),
        ({"sni": f"{HOST}\0.evil.example"}, "SNI"),
        ({"hosts": ()}, "0 Host headers"),
        ({"hosts": (HOST, HOST)}, "2 Host headers"),
        ({"hosts": ("",)}, "Host"),
        ({"hosts": ("evil.example.org",)}, "Host"),
        ({"hosts": (f"{HOST}:8443",)}, "another port"),
        ({"hosts": (f"{HOST}, evil.example.org",)}, "Host"),
        ({"hosts": (f"{HOST}:443:443",)}, "another port"),
        ({"hosts": (f"a@{HOST}",)}, "Host"),
        ({"authority": HOST}, "absolute"),
        ({"authority": "evil.example.org"}, "absolute"),
        ({"http2": True, "authority": "evil.example.org"}, ":authority"),
        ({"http2": True}, "no :authority"),
        ({"http2": True, "authority": HOST, "hosts": ("evil.example.org",)}, "Host"),
        ({"method": "PUT"}, "method 'PUT'"),
        ({"method": "get"}, "method 'get'"),
        ({"headers": (("x-original-url", "/upload"),)}, "'x-original-url'"),
        ({"headers": (("connection", "close, Host"),)}, "'host'"),
        ({"has_body": True}, "GET with a body"),
        ({"upgrade": True}, "upgrade"),
        ({"target": "/other"}, "not the path '/other'"),
        ({"target": "/simple/../upload"}, "dot segments"),
        ({"target": "/simple/%2e%2e/upload"}, "two ways"),
        ({"target": "/%73imple/a"}, "two ways"),
        ({"target": "/simple/%c0%ae%c0%ae/upload"}, "not UTF-8"),
        ({"target": f"/simple/?{'x' * 257}"}, "query"),
        ({"target": "/simple/?a b"}, "characters"),
        ({"target": "/simple/?a\r\nb"}, "characters"),
        ({"target": "/simple/?\xe9"}, "characters"),
        ({"odd_headers": True}, "more than one way"),
        ({"header_bytes": 8193}, "headers"),
        ({"method": "POST", "target": "/simple/a"}, "rule 'upload'"),
    ],
)
def test_what_does_not_agree_is_denied_and_says_why(changes, reason):
    assert not verdict(**changes).allowed
    assert verdict(**changes).rule == ""
    assert reason in verdict(**changes).reason


@pytest.mark.parametrize("field", ["requests", "uploaded", "downloaded"])
def test_budgets_are_for_tunnels_handshakes_and_requests(field):
    limits = Limits(max_requests=9, max_upload_bytes=9, max_download_bytes=9)
    policy = replace(POLICY, limits=limits)
    for used, fits in ((9, True), (10, False)):
        spent = Spent(**{field: used})
        assert decide(policy, GOOD, spent).allowed == fits
        assert decide_tunnel(policy, HOST, 443, spent).allowed == fits
        assert decide_tls(policy, HOST, 443, HOST, spent).allowed == fits


def test_a_handshake_has_to_name_the_tunnels_host():
    for sni, fits in ((HOST, True), ("evil.example.org", False), (None, False)):
        assert decide_tls(POLICY, HOST, 443, sni, Spent()).allowed == fits
    assert not decide_tls(POLICY, "evil.example.org", 443, "evil.example.org", Spent()).allowed


@pytest.mark.parametrize(
    ("url", "method", "rule", "reason"),
    [
        (f"https://{HOST}/simple/a", "GET", "index", "'index'"),
        (f"https://{HOST}:443/simple/a?b", "HEAD", "index", "'index'"),
        ("https://a.files.example.org:8443/", "GET", "files", "'files'"),
        (f"https://{HOST}/upload", "POST", "upload", "'upload'"),
        (f"http://{HOST}/simple/a", "GET", "", "only https"),
        (HOST, "GET", "", "only https"),
        (f"https://a@{HOST}/simple/a", "GET", "", "user name"),
        (f"https://{HOST}:99999/", "GET", "", "ort"),
        ("https://10.0.0.1/", "GET", "", "IP address"),
        ("https:///a", "GET", "", "empty"),
        (f"https://{HOST}/simple/a", "POST", "", "'upload'"),
    ],
)
def test_explain_names_the_rule(url, method, rule, reason):
    told = explain(POLICY, url, method)
    assert (told.allowed, told.rule) == (bool(rule), rule)
    assert reason in told.reason


def test_an_empty_policy_denies_everything():
    assert not decide(Policy(), GOOD, Spent()).allowed
    assert not explain(Policy(), f"https://{HOST}/").allowed


# Anything like the allowed names, in the places where names are.
NEAR = st.sampled_from([HOST, "a.files.example.org", "files.example.org", "example.org", "org"])
ODD = st.text("aR.-%@:/\\*0xé\u3002\0 ", max_size=4)
NAMES = st.one_of(NEAR, st.tuples(ODD, NEAR, ODD).map("".join), st.text(max_size=12))
FACTS = st.builds(
    Facts,
    connect=NAMES,
    port=st.sampled_from([443, 8443, 80, 22]),
    sni=st.none() | NAMES,
    hosts=st.lists(NAMES, max_size=2).map(tuple),
    method=st.sampled_from(["GET", "HEAD", "POST", "get", "CONNECT"]),
    target=st.sampled_from(["/", "/simple/a", "/upload", "*", "/simple/../upload", "//simple/a"]),
    authority=st.just("") | NAMES,
    http2=st.booleans(),
    headers=st.lists(st.sampled_from([("te", "x"), ("proxy", "x")]), max_size=2).map(tuple),
    has_body=st.booleans(),
    upgrade=st.booleans(),
)
SAME = NAMES.flatmap(
    lambda name: FACTS.map(
        lambda facts: replace(facts, connect=name, sni=name, hosts=(name,), authority="")
    )
)


@given(st.one_of(FACTS, SAME))
def test_nothing_off_the_list_ever_matches(facts):
    told = decide(POLICY, facts, Spent())
    if not told.allowed:
        assert told.rule == ""
        return
    host = normalise(facts.connect)
    named = [facts.sni or "", *facts.hosts, *([facts.authority] if facts.authority else [])]
    assert {normalise(name.partition(":")[0]) for name in named} == {host}
    rule = next(rule for rule in POLICY.rules if rule.name == told.rule)
    assert host in rule.hosts or f"*.{host.partition('.')[2]}" in rule.hosts
    assert facts.port in rule.ports
    assert facts.method in rule.methods
    assert facts.connect.isascii()
    assert not facts.upgrade
    assert ("proxy", "x") not in facts.headers
    assert bool(facts.authority) == facts.http2


@given(st.text(max_size=30), st.sampled_from(["GET", "POST"]))
def test_no_address_makes_explain_fail(text, method):
    told = explain(POLICY, f"https://{text}", method)
    assert told.reason
    if told.allowed:
        assert normalise(text.partition("/")[0].partition("?")[0].partition(":")[0])


def test_every_odd_name_is_denied_in_each_place():
    added = [f".{HOST}", f"{HOST}..", f"{HOST}%00", f"{HOST}@a.example", f"{HOST}/"]
    for odd in ("", ".", "*", *added):
        with pytest.raises(NameRefusedError):
            normalise(odd)
        assert not verdict(connect=odd).allowed
        assert not verdict(sni=odd).allowed
        assert not verdict(hosts=(odd,)).allowed
        assert not verdict(http2=True, hosts=(), authority=odd).allowed
