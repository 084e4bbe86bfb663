"""Policies are found by name or path, and say what the proxy would say."""

import pytest

from codegym.errors import DataError, NotFoundError, UsageError
from codegym.network import find_policy
from codegym.network.policy import policy_names

INDEX = {"pip": ["https://index.test.example/simple/"], "npm": ["https://npm.test.example/"]}
OWN = '[[allow]]\nname = "docs"\nhosts = ["docs.example.org"]\n'


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".codegym/policies").mkdir(parents=True)
    return tmp_path


def test_bundled_policies_are_there_and_deny_what_they_do_not_name(here):
    assert {"none", "pip-as-of-task", "npm-as-of-task"} <= set(policy_names())
    for name in policy_names():
        policy = find_policy(name)
        told = policy.explain("https://elsewhere.example.org/", INDEX)
        assert (told.allowed, told.rule) == (False, "")
        assert "elsewhere.example.org" in told.reason


@pytest.mark.parametrize(
    ("name", "url", "rule"),
    [
        ("pip-as-of-task", "https://index.test.example/simple/six/", "index"),
        ("npm-as-of-task", "https://npm.test.example/@scope%2fname", "registry"),
    ],
)
def test_a_registrys_host_comes_from_whoever_asks(here, name, url, rule):
    policy = find_policy(name)
    assert policy.explain(url, INDEX).rule == rule
    assert policy.explain(url, INDEX).allowed
    assert not policy.explain(url, INDEX, "POST").allowed
    with pytest.raises(DataError, match="no address of the registry"):
        policy.explain(url, {})


def test_a_policy_of_ones_own_by_name_and_by_path(here):
    path = here / ".codegym/policies/mine.toml"
    path.write_text(OWN)
    for name in ("mine", str(path), ".codegym/policies/mine.toml"):
        told = find_policy(name).explain("https://docs.example.org/a", {})
        assert (told.allowed, told.rule) == (True, "docs")
    assert "mine" in policy_names()


def test_what_is_not_there_or_there_twice_or_wrong(here):
    with pytest.raises(NotFoundError, match="did you mean 'none'"):
        find_policy("nome")
    with pytest.raises(NotFoundError, match="No such file"):
        find_policy("nowhere.toml")
    (here / ".codegym/policies/none.toml").write_text(OWN)
    with pytest.raises(UsageError, match="two network policies"):
        find_policy("none")
    (here / "odd.toml").write_bytes(b"\xff")
    with pytest.raises(DataError, match="UTF-8"):
        find_policy("odd.toml")
    (here / "odd.toml").write_text("[[allow]]\nhost = 1")
    with pytest.raises(DataError, match=r"odd\.toml: allow: name"):
        find_policy("odd.toml").explain("https://a.example/", {})
