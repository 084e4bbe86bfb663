"""The commands about the network, as a user types them."""

import json

import pytest
from typer.testing import CliRunner

from codegym.cli.app import app


def run(*words):
    return CliRunner().invoke(app, words)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = '[[allow]]\nname = "docs"\nhosts = ["docs.example.org"]\npaths = ["/3/**"]\n'
    (tmp_path / "mine.toml").write_text(rule)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://docs.example.org/3/a", "allowed by rule 'docs': "),
        ("https://docs.example.org/2/a", "denied: rule 'docs' has the host, but not the path"),
        ("http://docs.example.org/3/a", "denied: only https"),
        ("https://example.org/", "denied: no rule has the host 'example.org'"),
    ],
)
def test_explain(url, said):
    ran = run("network", "explain", "mine.toml", url)
    assert ran.exit_code == (0 if said.startswith("allowed") else 1)
    assert ran.stdout.startswith(said)
    told = json.loads(run("network", "explain", "mine.toml", url, "--json").stdout)
    assert told["allowed"] == said.startswith("allowed")
    assert told["policy"] == "mine.toml"


def test_explain_of_another_method():
    url = "https://docs.example.org/3/a"
    ran = run("network", "explain", "mine.toml", url, "--method", "PUT")
    assert "not the method 'PUT'" in ran.stdout


def test_explain_of_what_is_not_there_or_wrong(tmp_path):
    assert run("network", "explain", "nowhere", "https://a.example/").exit_code == 2
    (tmp_path / "mine.toml").write_text("[limit]")
    ran = run("network", "explain", "mine.toml", "https://a.example/")
    assert ran.exit_code == 2
    assert "unknown key 'limit'; did you mean 'limits'?" in ran.stderr


def test_explain_asks_pip_on_the_host(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example.org/simple/")
    url = "https://index.example.org/simple/six/"
    told = run("network", "explain", "pip-as-of-task", url).stdout
    assert "allowed by rule 'index'" in told
    assert "the project under test" in told
    monkeypatch.setenv("PIP_INDEX_URL", "https://10.0.0.1/simple/")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    ran = run("network", "explain", "pip-as-of-task", url)
    assert ran.exit_code == 2
    assert "IP address" in ran.stderr


@pytest.mark.network
def test_install_says_what_it_made():
    told = json.loads(run("proxy", "install", "--json").stdout)
    assert told["python"].endswith("/bin/python")
    assert told["mitmproxy"].split(".")[0] in ("11", "12")
    assert bool(told["note"]) == told["mitmproxy"].startswith("11.")
