"""pip's index as of a date: nothing later, nothing of unknown time, and the same in every form."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.index.kinds import Ask, fetchable, moment, same_name
from proxy.index.pip import Pip
from proxy.index.versions import release_key

CUTOFF = datetime(2020, 1, 1, tzinfo=UTC)
ROOT, ORIGIN, BASE = (
    "/root/simple",
    "https://index.example",
    "https://index.example/root/simple/a-b/",
)
JSON = "application/vnd.pypi.simple.v1+json"
SHA = "0123456789abcdef" * 4
EARLY, LATE = "2019-12-31T23:59:59.999999Z", "2020-01-01T00:00:00Z"


def entry(filename="a_b-1.0-py3-none-any.whl", **changes):
    usual = {
        "filename": filename,
        "url": f"https://files.example/x/{filename}",
        "hashes": {"sha256": SHA, "md5": "0" * 32},
        "upload-time": EARLY,
        "size": 7,
        "requires-python": ">=3",
        "yanked": False,
        "core-metadata": {"sha256": SHA[::-1]},
    }
    return {k: v for k, v in (usual | changes).items() if v is not ...}


def listing(*entries, name="a.b", project="a-b"):
    document = {"meta": {"api-version": "1.1"}, "name": name, "files": list(entries)}
    return Pip().listing(document, project, BASE, CUTOFF)


def page(project, accept=JSON):
    return project.answer(Ask("a-b"), accept, ORIGIN, ROOT)


def names(project):
    return [file["filename"] for file in json.loads(page(project)[1])["files"]]


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "a":
            self.found.append(dict(attributes))


def test_what_is_kept_is_said_as_upstream_says_it_but_for_where_it_is():
    (file,) = json.loads(page(listing(entry(yanked="broken")))[1])["files"]
    assert file == {
        "filename": "a_b-1.0-py3-none-any.whl",
        "url": f"{ROOT}/a-b/{SHA}/a_b-1.0-py3-none-any.whl",
        "hashes": {"sha256": SHA, "md5": "0" * 32},
        "upload-time": EARLY,
        "size": 7,
        "requires-python": ">=3",
        "yanked": "broken",
        "core-metadata": {"sha256": SHA[::-1]},
        "dist-info-metadata": {"sha256": SHA[::-1]},
    }
    (link,) = Links(page(listing(entry(yanked="<b>")), "text/html")[1]).found
    assert link == {
        "href": f"{ROOT}/a-b/{SHA}/a_b-1.0-py3-none-any.whl#sha256={SHA}",
        "data-requires-python": ">=3",
        "data-yanked": "<b>",
        "data-core-metadata": f"sha256={SHA[::-1]}",
        "data-dist-info-metadata": f"sha256={SHA[::-1]}",
    }


ABSENT = {
    "of the cutoff": {"upload-time": LATE},
    "late by an offset": {"upload-time": "2019-12-31T23:30:00-01:00"},
    "without a time": {"upload-time": ...},
    "whose time is null": {"upload-time": None},
    "whose time is a number": {"upload-time": 0},
    "whose time has no zone": {"upload-time": "2019-01-01T00:00:00"},
    "whose time is only a date": {"upload-time": "2019-01-01"},
    "whose time is nonsense": {"upload-time": "yesterday"},
    "without a digest": {"hashes": {"md5": "0" * 32}},
    "whose digest is none": {"hashes": {"sha256": SHA[1:] + "g"}},
    "whose digest is short": {"hashes": {"sha256": SHA[1:]}},
    "without hashes": {"hashes": ...},
    "of another project": {"filename": "c-1.0-py3-none-any.whl"},
    "of a longer name": {"filename": "a_b_c-1.0-py3-none-any.whl"},
    "of no name": {"filename": "1.0.tar.gz"},
    "of a path": {"filename": "../a_b-1.0.tar.gz"},
    "that cannot be opened": {"filename": "a_b-1.0.rpm"},
    "of no version": {"filename": "a_b-.tar.gz"},
    "in the clear": {"url": "http://files.example/x"},
    "on this machine": {"url": "file:///x"},
    "at an address": {"url": "https://127.0.0.1/x"},
    "at a single label": {"url": "https://localhost/x"},
    "of a user": {"url": "https://a:b@files.example/x"},
    "at no address": {"url": "//["},
    "at an odd port": {"url": "https://files.example:x/x"},
    "at an odd path": {"url": "https://files.example/x\r\nHost: y"},
    "without a link": {"url": ...},
}


@pytest.mark.parametrize("changes", ABSENT.values(), ids=ABSENT)
def test_absent_is_a_file(changes):
    assert names(listing(entry(**changes), entry("a_b-0.9.tar.gz"))) == ["a_b-0.9.tar.gz"]


def test_a_late_wheel_of_an_old_version_is_absent_and_versions_are_counted_anew():
    project = listing(
        entry("a_b-1.0.tar.gz"),
        entry("a_b-1.0-py3-none-any.whl", **{"upload-time": LATE}),
        entry("A.B-1.10.tar.gz"),
        entry("a-b-1.9.zip"),
        entry("a_b-2.0.tar.gz", **{"upload-time": LATE}),
    )
    told = json.loads(page(project)[1])
    assert told["versions"] == ["1.0", "1.9", "1.10"]
    assert names(project) == ["a_b-1.0.tar.gz", "A.B-1.10.tar.gz", "a-b-1.9.zip"]


def test_a_document_of_another_project_is_none():
    assert listing(entry(), name="c") is None
    for document in (None, [], {}, {"name": "a-b"}, {"name": "a-b", "files": {}}):
        assert Pip().listing(document, "a-b", BASE, CUTOFF) is None
    assert listing(1, None, {}).files == ()


def test_relative_links_are_of_the_document():
    project = listing(entry(url=f"../../files/a_b-1.0-py3-none-any.whl#sha256={SHA}"))
    (source, _) = project.sources().values()
    assert source.url == "https://index.example/root/files/a_b-1.0-py3-none-any.whl"


def test_metadata_without_a_digest_is_absent():
    for known in (True, {}, {"sha256": "x"}, None):
        (file,) = json.loads(page(listing(entry(**{"core-metadata": known})))[1])["files"]
        assert file["core-metadata"] is False
    assert json.loads(page(listing(entry(size=...)))[1])["meta"] == {"api-version": "1.0"}


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "text/html"),
        ("*/*", "text/html"),
        (JSON, JSON),
        (f"{JSON}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01", JSON),
        ("application/vnd.pypi.simple.latest+json", JSON),
        (f"text/html, {JSON};q=0.9", "text/html"),
        (f"{JSON};q=0, text/html;q=0.1", "text/html"),
        (f"{JSON};q=x, text/html;q=0.1", "text/html"),
        ("application/vnd.pypi.simple.v1+html", "application/vnd.pypi.simple.v1+html"),
        ("image/png", "text/html"),
    ],
)
def test_the_form_is_what_is_accepted(accept, form):
    assert page(listing(entry()), accept)[0] == form


def test_the_older_description_says_no_more_than_the_files_do():
    project = listing(entry(), entry("a_b-2.0rc1.tar.gz"), entry("a_b-0.9.tar.gz"))

    def told(version=""):
        answer = project.answer(Ask("a-b", "description", version), "", ORIGIN, ROOT)
        return answer and json.loads(answer[1])

    assert told()["info"]["version"] == "1.0"
    assert list(told()["releases"]) == ["0.9", "1.0", "2.0rc1"]
    assert [each["packagetype"] for each in told()["urls"]] == ["bdist_wheel"]
    assert told("0.9")["urls"][0]["url"] == f"{ORIGIN}{ROOT}/a-b/{SHA}/a_b-0.9.tar.gz"
    assert told("0.9")["urls"][0]["digests"]["sha256"] == SHA
    assert told("3.0") is None
    assert listing().answer(Ask("a-b", "description"), "", ORIGIN, ROOT) is None


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/root/simple/A.b/", Ask("a-b")),
        ("/root/simple/a-b", Ask("a-b")),
        ("/root/pypi/a-b/json", Ask("a-b", "description")),
        ("/root/pypi/a-b/1.0/json", Ask("a-b", "description", "1.0")),
        (f"/root/simple/a-b/{SHA}/a.whl", Ask("a-b", "file", f"{SHA}/a.whl")),
        ("/root/simple/", None),
        ("/root/simple", None),
        ("/root/simple/a-b/a.whl", None),
        (f"/root/simple/a-b/{SHA}/", None),
        (f"/root/simple/a-b/{SHA}/b/c", None),
        (f"/root/simple/a-b/{SHA.upper()}/a.whl", None),
        ("/root/simple/-a/", None),
        ("/root/simple/a%2Fb/", None),
        ("/root/pypi", None),
        ("/root/pypi/json", None),
        ("/root/pypi/a-b/1/2/json", None),
        ("/root/search", None),
        ("/root/rss/project/a-b/releases.xml", None),
        ("/simple/a-b/", None),
        ("/root/simpler/a-b/", None),
        ("/pypi/a-b/json", None),
        ("/", None),
    ],
)
def test_what_a_path_asks_for(path, asked):
    assert Pip().ask(ROOT, path) == asked


def test_an_index_at_another_path_has_no_descriptions():
    assert Pip().ask("/a", "/a/b/") == Ask("b")
    assert Pip().ask("", "/b/") == Ask("b")
    assert Pip().ask("", "/pypi/b/json") is None
    assert Pip().ask("/simple", "/pypi/b/json") == Ask("b", "description")


def test_versions_are_in_order():
    order = [
        "odd", "1.0.dev1", "1.0a1.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.1",
        "1.10", "2!0.1",
    ]  # fmt: skip
    assert sorted(order[1::2] + order[::2], key=release_key) == order
    assert [each for each in order if not release_key(each).final] == order[:6]


def test_what_is_no_moment():
    assert moment("2020-01-01T00:00:00Z") == CUTOFF
    assert moment("2020-01-01T01:00:00+01:00") == CUTOFF
    for text in ("2020-01-01", "2020-01-01 00:00:00Z", "2020-01-01T00:00:00", "", None, 1):
        assert moment(text) is None


# Laws ------------------------------------------------------------------------------------------

FILENAMES = st.sampled_from([
    "a_b-1.0-py3-none-any.whl", "a_b-1.0.tar.gz", "A-b-2.0.zip", "a.b-3.tar.bz2", "a_b-1-py3.egg",
    "c-1.0.tar.gz", "evil-a_b-1.0.tar.gz", "a_b-1.0.exe", "a_b", "a_b-1+l.tar.gz", 'a_b-1".zip',
])  # fmt: skip
TIMES = st.one_of(
    st.datetimes().map(lambda each: f"{each.isoformat()}Z"),
    st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
    st.sampled_from([EARLY, LATE, ..., None, "", "Z", "0001-01-01T00:00:00+23:59"]),
    st.text(max_size=30),
)
ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.just([]))
ENTRIES = st.builds(
    lambda name, time, digest, yanked, url, more: entry(
        name,
        **{"upload-time": time, "hashes": {"sha256": digest}, "yanked": yanked} | url | more,
    ),
    FILENAMES,
    TIMES,
    st.integers(0, 3).map(lambda each: f"{each:064x}") | ODD,
    ODD,
    st.just({}) | st.builds(lambda url: {"url": url}, ODD | st.sampled_from(["../x", "//y.z/w"])),
    st.dictionaries(st.sampled_from(["size", "requires-python", "core-metadata"]), ODD),
)


@given(st.lists(ENTRIES | ODD, max_size=8))
def test_every_form_lists_the_same_and_nothing_that_is_to_be_hidden(entries):
    project = listing(*entries)
    allowed = [
        (each["filename"], each["hashes"]["sha256"])
        for each in entries
        if isinstance(each, dict) and (time := moment(each.get("upload-time"))) and time < CUTOFF
    ]
    files = json.loads(page(project)[1])["files"]
    links = Links(page(project, "text/html")[1]).found
    asked = project.answer(Ask("a-b", "description"), "", ORIGIN, ROOT)
    releases = json.loads(asked[1])["releases"] if asked else {}
    older = [file["url"].removeprefix(ORIGIN) for each in releases.values() for file in each]
    assert sorted(older) == sorted(each["url"] for each in files)
    assert [each["href"].partition("#")[0] for each in links] == [each["url"] for each in files]
    sources = project.sources()
    for file in files:
        asked = Pip().ask(ROOT, file["url"])
        assert (asked.project, asked.what) == ("a-b", "file")
        assert sources[asked.detail].digest == f"sha256-{file['hashes']['sha256']}"
        assert (file["filename"], file["hashes"]["sha256"]) in allowed
        assert same_name(re.split(r"-\d", file["filename"])[0]) == "a-b"
        has_metadata = f"{asked.detail}.metadata" in sources
        assert has_metadata == bool(file["core-metadata"])
    assert all(fetchable(BASE, source.url) == source.url for source in sources.values())
    assert len(sources) == len(files) + sum(bool(each["core-metadata"]) for each in files)
    assert Pip().load(json.loads(json.dumps(project.dump()))) == project


@given(st.text("/aA.-%2F0123456789abcdefsimplpyjon@", max_size=90))
def test_no_path_asks_for_a_name_in_two_ways(path):
    asked = Pip().ask("/simple", f"/{path}")
    if asked:
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", asked.project)
        assert same_name(asked.project) == asked.project
