"""What an origin could be misled by is refused; what ordinary clients say is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.headers import kept_options, misleading

MISLEADING = [
    "x-original-url", "x-original-uri", "x-original-host", "x-original-method", "x-rewrite-url",
    "x-override-url", "x-http-method-override", "x-http-method", "x-method-override", "x-method",
    "x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "x-forwarded-port",
    "x-forwarded-server", "x-forwarded-prefix", "x-forwarded-uri", "x-forwarded", "x-host",
    "x-http-host-override", "x-real-ip", "x-url-scheme", "x-scheme", "x-script-name", "forwarded",
    "front-end-https", "proxy", "x-envoy-original-path", "x-waws-unencoded-url", "request-uri",
    "x-request-url", "http-url", "x-proxy-url", "x-host-override",
]  # fmt: skip
#: Of pip, uv, curl, git, npm, cargo, requests, httpx, urllib, go, browsers and clouds' clients.
ORDINARY = [
    "host", "user-agent", "accept", "accept-encoding", "accept-language", "accept-charset",
    "authorization", "cache-control", "pragma", "range", "if-range", "if-none-match",
    "if-modified-since", "if-match", "content-type", "content-length", "content-encoding",
    "content-md5", "transfer-encoding", "expect", "cookie", "origin", "referer", "date",
    "git-protocol", "npm-command", "npm-scope", "npm-session", "npm-in-ci", "npm-auth-type",
    "pacote-version", "pacote-pkg-id", "pacote-req-type", "x-requested-with", "x-request-id",
    "x-amz-date", "x-amz-content-sha256", "x-goog-api-client", "x-github-api-version", "x-api-key",
    "x-csrf-token", "x-repo-commit", "sec-fetch-mode", "sec-fetch-dest", "sec-ch-ua", "dnt",
    "upgrade-insecure-requests", "traceparent", "priority", "te", "proxy-connection", "keep-alive",
    "proxy-authorization", "x-trans-id", "docker-distribution-api-version", "link", "via",
]  # fmt: skip


@given(st.sampled_from(MISLEADING), st.sampled_from("-_.~"), st.text(max_size=5))
def test_what_says_another_path_method_or_host_is_refused_however_written(name, between, value):
    assert "another method, host or path" in misleading([(name.replace("-", between), value)])


@pytest.mark.parametrize("name", ["content_length", "transfer.encoding"])
def test_a_length_written_as_only_some_read_it_is_refused(name):
    assert misleading([(name, "5")])


@pytest.mark.parametrize("name", ORDINARY)
def test_what_ordinary_clients_say_passes(name):
    assert not misleading([("accept", "*/*"), (name, "x")])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("close", "close"),
        ("Keep-Alive", "keep-alive"),
        ("TE, close", "close"),
        ("TE", ""),
        ("", ""),
        ("keep-alive , Proxy-Connection,", "keep-alive"),
    ],
)
def test_connection_is_about_the_connection(said, kept):
    assert not misleading([("connection", said)])
    assert kept_options(said) == kept


@given(st.from_regex(r"[a-z-]{1,12}", fullmatch=True), st.sampled_from(["", "close, ", "a\t,"]))
def test_connection_names_no_header_that_an_origin_would_miss(name, before):
    known = ("close", "keep-alive", "te", "trailer", "proxy-connection", "proxy-authorization")
    assert bool(misleading([("connection", before + name)])) == (name not in known or "a" in before)
    assert name in kept_options(name) or name not in ("close", "keep-alive")
