"""What is wrong with a policy is said when it is read."""

import pytest

from proxy.policy_file import PolicyError, read_policy, registries_named
from proxy.rules import Limits, Rule, explain

RULE = '[[allow]]\nname = "a"\n'


def test_a_policy_is_read():
    policy = read_policy(
        'summary = "s"\n[limits]\nmax_requests = 7\n'
        f'{RULE}hosts = ["A.Example.org.", "*.b.example.org", "bücher.example"]\n'
        'methods = ["GET", "POST"]\npaths = ["/x/*"]\nports = [8443]\n',
        {},
    )
    hosts = ("a.example.org", "*.b.example.org", "xn--bcher-kva.example")
    assert policy.rules == (Rule("a", hosts, ("GET", "POST"), ("/x/*",), (8443,)),)
    assert policy.limits == Limits(max_requests=7)
    assert policy.summary == "s"


def test_the_least_that_can_be_said_is_narrow():
    assert read_policy('summary = "Nothing at all"', {}).rules == ()
    (rule,) = read_policy(RULE + 'hosts = ["a.example"]', {}).rules
    assert (rule.methods, rule.ports) == (("GET", "HEAD"), (443,))


def test_all_methods_that_ask_for_something_are_known():
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
    (rule,) = read_policy(f'{RULE}hosts = ["a.example"]\nmethods = {methods}', {}).rules
    assert rule.methods == tuple(methods)


def test_registries_are_filled_in():
    text = '[[allow]]\nname = "index"\nregistry = "pip"\npaths = ["/simple/*/"]\nas_of = "task"\n'
    addresses = ["https://index.example/root/", "https://other.example:8443"]
    one, two = read_policy(text, {"pip": addresses}).rules
    what = {"as_of": "task", "registry": "pip"}
    assert one == Rule(
        "index", ("index.example",), paths=("/root/simple/*/",), ports=(443,), root="/root", **what
    )
    assert (two.name, two.hosts, two.ports) == ("index-2", ("other.example",), (8443,))
    assert registries_named(text) == ("pip",)
    assert registries_named("") == registries_named("allow = 1") == registries_named("][") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("][", "not TOML"),
        ("", "use the policy 'none'"),
        ("# nothing", "use the policy 'none'"),
        ('summary = ""', "use the policy 'none'"),
        ("allow = []", "use the policy 'none'"),
        ("[limits]\nmax_requests = 1", "use the policy 'none'"),
        ("alow = []", "unknown key 'alow'; did you mean 'allow'?"),
        ("summary = 1", "summary"),
        ("allow = 1", "allow: not a list"),
        ("allow = [1]", "allow: not a list"),
        ("limits = 1", "limits: not a table"),
        ("[limits]\nmax_request = 1", "did you mean 'max_requests'?"),
        ("[limits]\nmax_requests = -1", "max_requests: -1"),
        ("[limits]\nmax_requests = true", "max_requests: True"),
        ('[limits]\nmax_requests = "1"', "max_requests: '1'"),
        ("[[allow]]", "name: None"),
        ('[[allow]]\nname = "A b"', "name: 'A b'"),
        (RULE, "either hosts or registry"),
        (RULE + 'hosts = ["a.example"]\nregistry = "pip"', "either hosts or registry"),
        (RULE + 'hosts = ["a.example"]\nhost = "b"', "unknown key 'host'; did you mean 'hosts'?"),
        (RULE + 'hosts = "a.example"', "hosts: not a list of strings"),
        (RULE + "hosts = []", "hosts: the list is empty"),
        (RULE + "hosts = [1]", "hosts: not a list of strings"),
        (RULE + 'hosts = [""]', "the host is empty"),
        (RULE + 'hosts = [" "]', "the host is empty"),
        (RULE + 'hosts = ["*"]', "a bare * would allow every host"),
        (RULE + 'hosts = ["10.0.0.1"]', "IP address"),
        (RULE + 'hosts = ["0x7f.1"]', "IP address"),
        (RULE + 'hosts = ["[::1]"]', "no domain name"),
        (RULE + 'hosts = ["com"]', "top-level domain"),
        (RULE + 'hosts = ["localhost"]', "single label"),
        (RULE + 'hosts = ["*.com"]', "too wide"),
        (RULE + 'hosts = ["*.co.uk"]', "too wide"),
        (RULE + 'hosts = ["*."]', "too wide"),
        (RULE + 'hosts = ["*.*.example.org"]', "the whole first label"),
        (RULE + 'hosts = ["a.*.example.org"]', "the whole first label"),
        (RULE + 'hosts = ["a*.example.org"]', "the whole first label"),
        (RULE + 'hosts = ["https://a.example"]', "no scheme"),
        (RULE + 'hosts = ["a.example:443"]', "no scheme, port"),
        (RULE + 'hosts = ["a.example"]\nports = []', "ports"),
        (RULE + 'hosts = ["a.example"]\nports = [0]', "ports: 0"),
        (RULE + 'hosts = ["a.example"]\nports = [true]', "ports: True"),
        (RULE + 'hosts = ["a.example"]\nmethods = ["get"]', "methods: 'get'"),
        (RULE + 'hosts = ["a.example"]\nmethods = ["CONNECT"]', "methods: 'CONNECT'"),
        (RULE + 'hosts = ["a.example"]\nmethods = ["TRACE"]', "methods: 'TRACE'"),
        (RULE + 'hosts = ["a.example"]\nmethods = ["FOO"]', "'FOO' is not one of GET, HEAD, POST"),
        (RULE + 'hosts = ["a.example"]\npaths = ["a"]', "paths: 'a'"),
        (RULE + 'hosts = ["a.example"]\npaths = ["/../a"]', "paths: '/../a'"),
        (RULE + 'hosts = ["a.example"]\npaths = ["/%61"]', "paths: '/%61'"),
        (RULE + 'hosts = ["a.example"]\npaths = ["/%C0%AE"]', "paths: '/%C0%AE'"),
        (RULE + 'hosts = ["a.example"]\nas_of = "today"', "as_of: 'today'"),
        (RULE + 'hosts = ["a.example"]\nas_of = "task"', "only a registry that is read"),
        (RULE + 'registry = "pip"\nas_of = "task"\nmethods = ["POST"]', "only a registry that is"),
        (RULE + 'registry = "cran"', "registry: 'cran' is not one of pip, npm"),
        (RULE + 'registry = "npm"', "no address of the registry 'npm'"),
        (RULE + 'registry = "pip"\nports = [1]', "ports: come from"),
        (2 * (RULE + 'hosts = ["a.example"]\n'), "two rules have one name"),
    ],
)
def test_what_is_wrong_is_said(text, problem):
    with pytest.raises(PolicyError) as told:
        read_policy(text, {"pip": ["https://index.example/"]})
    assert problem in str(told.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://index.example/",
        "file:///a",
        "https://10.0.0.1/",
        "https:///",
        "x",
        "https://*.b.example/",
    ],
)
def test_a_registrys_address_that_cannot_be_used_is_said(address):
    with pytest.raises(PolicyError, match="registry"):
        read_policy(RULE + 'registry = "pip"', {"pip": [address]})


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/root/simple/six/", True),
        ("/root/pypi/six/json", True),
        (f"/root/simple/six/{'0' * 64}/six-1.0.tar.gz", True),
        ("/root/simple/", False),
        ("/root/simple/six/six-1.0.tar.gz", False),
        ("/root/search", False),
        ("/", False),
    ],
)
def test_a_registry_as_of_a_date_is_asked_only_what_it_answers(path, passes):
    text = RULE + 'registry = "pip"\nas_of = "task"\n'
    policy = read_policy(text, {"pip": ["https://a:b%40c@index.example/root/simple/"]})
    assert explain(policy, f"https://index.example{path}").allowed == passes
    narrow = read_policy(text + 'paths = ["/six/"]\n', {"pip": ["https://index.example/simple"]})
    assert not explain(narrow, "https://index.example/simple/other/").allowed
    assert explain(narrow, "https://index.example/simple/six/").allowed


def test_credentials_are_read_and_never_shown():
    (rule,) = read_policy(
        RULE + 'registry = "npm"', {"npm": ["https://a:b%40c@index.example"]}
    ).rules
    assert rule.credentials == "a:b@c"
    assert "b@c" not in repr(rule)
