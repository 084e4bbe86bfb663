"""npm's registry as of a date: nothing later, nothing of unknown time, no tag that points away."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.index.kinds import Ask, moment
from proxy.index.npm import Npm
from proxy.index.versions import semantic_key

CUTOFF = datetime(2020, 1, 1, tzinfo=UTC)
NAME, ROOT, ORIGIN, BASE = "@a/b", "/npm", "https://r.example", "https://r.example/npm/@a%2Fb"
EARLY, LATE = "2019-12-31T23:59:59.999Z", "2020-01-01T00:00:00.000Z"
SHORT = "application/vnd.npm.install-v1+json"
RAW = bytes(range(64))
INTEGRITY = f"sha512-{base64.b64encode(RAW).decode()}"


def manifest(version="1.0.0", **changes):
    usual = {
        "name": NAME,
        "version": version,
        "dist": {"tarball": "https://t.example/x.tgz", "integrity": INTEGRITY, "shasum": "0" * 40},
        "scripts": {"postinstall": "x", "test": "y"},
        "dependencies": {"c": "^1"},
        "readme": "of today",
        "deprecated": "why",
    }
    return {k: v for k, v in (usual | changes).items() if v is not ...}


def package(manifests, times, tags=None, **changes):
    document = {"name": NAME, "versions": manifests, "time": times, "dist-tags": tags or {}}
    return Npm().listing(document | {"readme": "of today"} | changes, NAME, BASE, CUTOFF)


def told(listing, accept="*/*"):
    return json.loads(listing.answer(Ask(NAME), accept, ORIGIN, ROOT)[1])


def versions(listing):
    return list(told(listing)["versions"])


def test_a_packument_is_what_it_was():
    times = {"created": EARLY, "modified": LATE, "1.0.0": EARLY, "1.1.0": LATE, "1.0.1": EARLY[1:]}
    every = {version: manifest(version) for version in ("1.0.0", "1.0.1", "1.1.0", "1.2.0")}
    listing = package(every, times, {"latest": "1.1.0", "next": "1.2.0", "old": "1.0.0"})
    full = told(listing)
    assert full["dist-tags"] == {"latest": "1.0.0", "old": "1.0.0"}
    assert full["time"] == {"created": EARLY, "modified": EARLY, "1.0.0": EARLY}
    assert list(full["versions"]) == ["1.0.0"]
    assert "of today" not in json.dumps(full)
    dist = full["versions"]["1.0.0"]["dist"]
    tarball = f"{ORIGIN}{ROOT}/{NAME}/-/b-1.0.0.tgz"
    assert dist == {"integrity": INTEGRITY, "shasum": "0" * 40, "tarball": tarball}
    (source,) = listing.sources().values()
    assert (source.url, source.digest) == ("https://t.example/x.tgz", f"sha512-{RAW.hex()}")


def test_an_abbreviated_packument_is_made_of_the_full_one():
    listing = package({"1.0.0": manifest()}, {"1.0.0": EARLY})
    media, text = listing.answer(Ask(NAME), f"{SHORT}; q=1.0, */*", ORIGIN, ROOT)
    short = json.loads(text)
    assert media == SHORT
    assert list(short) == ["name", "dist-tags", "versions", "modified"]
    (version,) = short["versions"].values()
    assert version["hasInstallScript"] is True
    assert version["dist"] == told(listing)["versions"]["1.0.0"]["dist"]
    assert version["dependencies"] == {"c": "^1"}
    assert version["deprecated"] == "why"
    assert "scripts" not in version
    assert "hasInstallScript" not in told(listing)["versions"]["1.0.0"]


def test_a_versions_manifest_is_by_version_or_tag():
    listing = package({"1.0.0": manifest()}, {"1.0.0": EARLY, "2.0.0": EARLY})

    def chosen(version):
        answer = listing.answer(Ask(NAME, "description", version), "", ORIGIN, ROOT)
        return answer and json.loads(answer[1])["version"]

    assert [chosen(each) for each in ("1.0.0", "latest", "2.0.0", "next")] == [
        *("1.0.0", "1.0.0", None, None)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"version": "1.0.1"},
        {"dist": ...},
        {"dist": {}},
        {"dist": {"tarball": "http://t.example/x.tgz", "integrity": INTEGRITY}},
        {"dist": {"tarball": "https://127.0.0.1/x.tgz", "integrity": INTEGRITY}},
        {"dist": {"tarball": "git+ssh://t.example/x", "integrity": INTEGRITY}},
        {"dist": {"tarball": 1, "integrity": INTEGRITY}},
        {"dist": {"tarball": "https://t.example/x.tgz"}},
        {"dist": {"tarball": "https://t.example/x.tgz", "integrity": 1}},
        {"dist": {"tarball": "https://t.example/x.tgz", "integrity": "sha512-!"}},
        {"dist": {"tarball": "https://t.example/x.tgz", "integrity": "sha512-AAAA"}},
        {"dist": {"tarball": "https://t.example/x.tgz", "integrity": f"sha1-{'A' * 28}"}},
    ],
)
def test_absent_is_a_version_that_cannot_be_checked(changes):
    times = {"1.0.0": EARLY, "0.9.0": EARLY}
    odd, plain = manifest(**changes), manifest("0.9.0")
    assert versions(package({"1.0.0": odd, "0.9.0": plain}, times)) == ["0.9.0"]


def test_the_strongest_digest_counts():
    weak = f"sha256-{base64.b64encode(RAW[:32]).decode()}"
    dist = {"tarball": "https://t.example/x", "integrity": f"{weak} {INTEGRITY}?x sha1-AAAA"}
    (source,) = package({"1.0.0": manifest(dist=dist)}, {"1.0.0": EARLY}).sources().values()
    assert source.digest == f"sha512-{RAW.hex()}"


def test_a_document_of_another_package_is_none():
    assert package({}, {}, name="b") is None
    assert package([], {}) is None
    assert package({}, None) is None
    assert Npm().listing([], NAME, BASE, CUTOFF) is None
    assert told(package({}, {}))["dist-tags"] == {}
    assert "modified" not in told(package({}, {}), SHORT)


@pytest.mark.parametrize(
    ("there", "latest"),
    [
        (["1.0.0", "1.10.0", "1.9.0"], "1.10.0"),
        (["1.0.0", "2.0.0-rc.1"], "1.0.0"),
        (["2.0.0-rc.1", "2.0.0-rc.10", "2.0.0-rc.9", "2.0.0-beta"], "2.0.0-rc.10"),
        (["0.0.1"], "0.0.1"),
    ],
)
def test_latest_is_the_highest_that_is_left(there, latest):
    manifests = {version: manifest(version) for version in there}
    listing = package(manifests, dict.fromkeys(there, EARLY), {"latest": there[0]})
    assert told(listing)["dist-tags"] == {"latest": latest}


def test_versions_are_in_order():
    order = [
        "1.0.0-1", "1.0.0-2", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2",
        "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
    ]  # fmt: skip
    assert sorted(order[1::2] + order[::2], key=semantic_key) == order
    for odd in ("1", "1.0", "01.0.0", "1.0.0-", "1.0.0.0", "v1.0.0", "1.0.0 ", "x", "1.0.0\n"):
        assert semantic_key(odd) is None


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/npm/b", Ask("b")),
        ("/npm/B.c_d", Ask("B.c_d")),
        ("/npm/@a/b", Ask(NAME)),
        ("/npm/@a%2Fb", Ask(NAME)),
        ("/npm/b/1.0.0", Ask("b", "description", "1.0.0")),
        ("/npm/@a%2Fb/latest", Ask(NAME, "description", "latest")),
        ("/npm/@a/b/-/b-1.0.0.tgz", Ask(NAME, "file", "b-1.0.0.tgz")),
        ("/npm/b/-/b-1.0.0-rc.1+x.tgz", Ask("b", "file", "b-1.0.0-rc.1+x.tgz")),
        ("/npm/", None),
        ("/npm", None),
        ("/npm/-/v1/search", None),
        ("/npm/-/npm/v1/security/advisories/bulk", None),
        ("/npm/-/all", None),
        ("/npm/-/ping", None),
        ("/npm/@a", None),
        ("/npm/b/-/b.zip", None),
        ("/npm/b/-/", None),
        ("/npm/b/-/c/b-1.0.0.tgz", None),
        ("/npm/b/-rev/1", None),
        ("/npm/b%2F1", None),
        ("/npm/.b", None),
        ("/npm/_b", None),
        (f"/npm/{'b' * 215}", None),
        ("/b", None),
    ],
)
def test_what_a_path_asks_for(path, asked):
    assert Npm().ask(ROOT, path) == asked
    if asked and asked.what == "page":
        assert Npm().ask(ROOT, Npm().address(ROOT, asked.project)) == asked


# Laws ------------------------------------------------------------------------------------------

VERSIONS = st.one_of(
    st.builds("{}.{}.{}".format, *[st.integers(0, 3)] * 3),
    st.builds("1.0.0-{}".format, st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True)),
    st.sampled_from(["1", "../1.0.0", "1.0.0/x", "latest", ""]),
)
ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.just([]))
TIMES = st.one_of(
    st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
    st.datetimes().map(datetime.isoformat),
    st.sampled_from([EARLY, LATE, ""]),
    ODD,
)
DISTS = st.fixed_dictionaries({}, optional={
    "tarball": st.sampled_from(["https://t.example/x", "x.tgz", "http://t.example/x"]) | ODD,
    "integrity": st.just(INTEGRITY) | ODD,
})  # fmt: skip
PACKAGES = st.dictionaries(VERSIONS, st.tuples(TIMES, DISTS | ODD), max_size=6)
TAGS = st.dictionaries(st.sampled_from(["latest", "next", "beta"]), VERSIONS | ODD)


@given(PACKAGES, TAGS | ODD)
def test_both_forms_have_the_same_and_nothing_that_is_to_be_hidden(every, tags):
    manifests = {version: manifest(version, dist=dist) for version, (_, dist) in every.items()}
    times = {version: time for version, (time, _) in every.items()}
    listing = package(manifests, times, tags)
    full, short = told(listing), told(listing, SHORT)
    assert list(full["versions"]) == list(short["versions"])
    assert full["dist-tags"] == short["dist-tags"]
    assert set(full["dist-tags"].values()) <= set(full["versions"])
    assert ("latest" in full["dist-tags"]) == bool(full["versions"])
    assert {*full["time"]} - {"created", "modified"} == {*full["versions"]}
    sources = listing.sources()
    assert len(sources) == len(full["versions"])
    for version, said in full["versions"].items():
        assert moment(every[version][0]) < CUTOFF
        assert said["dist"] == short["versions"][version]["dist"]
        asked = Npm().ask(ROOT, said["dist"]["tarball"].removeprefix(ORIGIN))
        assert (asked.project, asked.what) == (NAME, "file")
        assert sources[asked.detail].digest == f"sha512-{RAW.hex()}"
    assert Npm().load(json.loads(json.dumps(listing.dump()))) == listing
