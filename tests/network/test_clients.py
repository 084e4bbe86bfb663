"""What clients in a sandbox are told; and what the operator says about the proxy."""

import json

import pytest

from codegym.errors import DataError
from codegym.network.clients import CERTIFICATE, FOLDER, PREFIX, files, variables
from codegym.network.log import read_log
from codegym.network.operator import operator_config
from codegym.network.registries import without_credentials

IMAGE = {"PATH": "/opt/venv/bin:/usr/bin", "PYTHONPATH": "/lib/x"}


def test_without_pip_only_proxy_and_trust_are_told():
    told = variables(IMAGE, {}, pip=False)
    assert told["https_proxy"] == told["HTTPS_PROXY"] == "http://127.0.0.1:3128"
    assert told["SSL_CERT_FILE"] == told["GIT_SSL_CAINFO"] == CERTIFICATE
    assert "127.0.0.1" in told["NO_PROXY"]
    assert not {"PATH", "PYTHONPATH", "PIP_INDEX_URL", "npm_config_registry"} & set(told)
    assert files("PEM") == {CERTIFICATE: b"PEM"}


def test_registries_are_told_without_what_opens_them():
    secret = ["https://user:pass@index.example.org:8443/simple/", "https://tok@more.example.org/s"]
    told = variables(IMAGE, {"pip": secret, "npm": ["https://u:p@npm.example.org/"]}, pip=True)
    assert told["PIP_INDEX_URL"] == told["UV_DEFAULT_INDEX"]
    assert told["PIP_INDEX_URL"] == "https://index.example.org:8443/simple/"
    assert told["PIP_EXTRA_INDEX_URL"] == "https://more.example.org/s"
    assert told["npm_config_registry"] == "https://npm.example.org/"
    assert not any(word in json.dumps(told) for word in ("user", "pass@", "tok", "u:p"))
    assert without_credentials("https://a.example/b?c#d") == "https://a.example/b?c#d"


def test_pip_and_what_it_installs_come_before_the_image():
    told = variables(IMAGE, {}, pip=True)
    assert told["PATH"] == f"{FOLDER}/bin:{PREFIX}/bin:/opt/venv/bin:/usr/bin"
    assert told["PYTHONPATH"] == f"{FOLDER}/python:/lib/x"
    laid = files("PEM", b"wheel")
    assert laid[f"{FOLDER}/pip.whl"] == b"wheel"
    assert laid[f"{FOLDER}/bin/pip"].startswith(b"#!/bin/sh\n")
    compile(laid[f"{FOLDER}/python/sitecustomize.py"], "sitecustomize.py", "exec")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    (tmp_path / ".codegym").mkdir()
    return tmp_path / ".codegym" / "proxy.toml"


def test_without_the_operators_file_only_what_is_public_is_reached(here, monkeypatch):
    config = operator_config()
    assert (config.upstream_ca, config.hosts, config.private_addresses) == (None, {}, ())
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own.pem")
    assert str(operator_config().upstream_ca) == "/etc/own.pem"


def test_the_operators_file(here, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own.pem")
    (here.parent / "ca.pem").touch()
    here.write_text(
        'upstream_ca = "ca.pem"\nprivate_addresses = ["10.0.0.1:443", "fd00::1:8443"]\n'
        '[hosts]\n"index.example.org" = "10.0.0.1"\n'
    )
    config = operator_config()
    assert config.upstream_ca == here.parent / "ca.pem"
    assert config.private_addresses == ("10.0.0.1:443", "fd00::1:8443")
    assert config.hosts == {"index.example.org": "10.0.0.1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("private = []", "unknown key; there are upstream_ca, hosts, private_addresses"),
        ('private_addresses = ["10.0.0.1"]', "not ADDRESS:PORT"),
        ('private_addresses = ["010.0.0.1:443"]', "not ADDRESS:PORT"),
        ('private_addresses = ["index.example.org:443"]', "not ADDRESS:PORT"),
        ('private_addresses = ["10.0.0.1:70000"]', "not ADDRESS:PORT"),
        ("hosts = 3", "hosts"),
        ('[hosts]\n"a.example.org" = "b.example.org"', "hosts.a.example.org.*is not an address"),
        ('[hosts]\n"*" = "10.0.0.1"', "not the whole name of a host"),
        ('[hosts]\n"*.example.org" = "10.0.0.1"', "not the whole name of a host"),
        ('[hosts]\nprivate_addresses = ["10.0.0.1:443"]', "write it above that line"),
        ('upstream_ca = "nowhere.pem"', "upstream_ca.*there is no file"),
        ("not toml", "not TOML"),
    ],
)
def test_an_operators_file_that_is_wrong(here, text, problem):
    here.write_text(text)
    with pytest.raises(DataError, match=problem):
        operator_config()


def test_a_log_is_read_line_by_line(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"time": 1.5, "event": "request", "allowed": true, "rule": "r", "reason": "", '
        '"host": "h", "port": 443, "method": "GET", "target": "/", "more": 1, "sni": null}\n'
    )
    (entry,) = read_log(log)
    assert (entry.event, entry.allowed, entry.target, entry.status) == ("request", True, "/", 0)
    log.write_text(log.read_text() + "[]\n")
    with pytest.raises(DataError, match=r"log\.jsonl:2"):
        read_log(log)
