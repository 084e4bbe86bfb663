"""Names and paths have one way to be written, and what has two is refused."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.names import NameRefusedError, canonical_path, glob, normalise

#: IP addresses in all notations, what is more than a name, what is less, and what looks like one.
ODD = [
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "1.2.3", "a.1",
    "a.0x7f", "0x", "::1", "[::1]", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "fe80::1%eth0",
    "169.254.169.254", "\uff11\uff12\uff17.0.0.1", "a.example:443", "https://a.example",
    "a.example/", "a.example/b", "/a.example", "a.example?b", "a.example#b", "user@a.example",
    "a.example@b.example", "a.example%00.b.example", "a%2eexample", "a.example%", "a\\b.example",
    "a.example\\.b.example", ".a.example", "a..example", "a.example..", ".", "..", "*.a.example",
    "a_b.example", "-a.example", "a-.example", "localhost", "com", "a", "a.",
    "a.example,b.example", "a.example;b", 'a.e"x', "<a.example>", "a.example\u3002\u3002",
]  # fmt: skip
SPACED = ("a b.example", " a.example", "a.example\t", "a.exa\nmple", "a.example\r\n", "a\0.example")
LONG = ("a" * 64 + ".example", "é" * 70, "a." * 140 + "example")


@pytest.mark.parametrize("name", [*ODD, *SPACED, *LONG, ""])
def test_what_is_no_full_name_is_refused(name):
    with pytest.raises(NameRefusedError):
        normalise(name)


def test_a_name_that_is_too_long_is_refused():
    assert len(normalise(".".join(["a" * 49] * 5))) == 249
    with pytest.raises(NameRefusedError):
        normalise(".".join(["a" * 50] * 5))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("A.Example", "a.example"),
        ("a.example.", "a.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example\u3002", "xn--bcher-kva.example"),
        ("\uff41.example", "a.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("a1.b-2.example", "a1.b-2.example"),
    ],
)
def test_a_name_is_written_in_one_way(name, written):
    assert normalise(name) == written


LABELS = st.from_regex(r"[A-Za-z0-9-]{1,8}", fullmatch=True)
NAMES = st.one_of(
    st.lists(LABELS, min_size=1, max_size=4).map(".".join),
    st.text(max_size=20),
    st.text("aA1.-%@:/\\ \u3002\uff41éßİ\0*", max_size=12),
)


@given(NAMES)
def test_normalising_is_idempotent_and_what_comes_out_is_a_name(name):
    try:
        once = normalise(name)
    except NameRefusedError:
        return
    assert normalise(once) == once
    assert set(once) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert once.count(".") >= 1
    assert "" not in once.split(".")


@pytest.mark.parametrize(
    "path",
    [
        "", "a", "*", "//", "/a//b", "/.", "/..", "/a/../b", "/a/./b", "/%2e%2e/a", "/a%2f..%2fb",
        "/%2e", "/..;/a", "/a/..;x/b", "/%", "/%2", "/%zz", "/%25", "/%252e", "/%00", "/%0a",
        "/%7f", "/a\\b", "/a%5cb", "/a#b", "/a b", "/é", "/a\tb", "/a\0", "/.%2e/a", "/a%2F%2Fb",
        "/%2F", "/%33/x", "/%61%2D", "/%5f", "/%c0%ae%c0%ae/s", "/%c0%af", "/%e0%80%af", "/%ff",
        "/%c3", "/%c3/%a9", "/%c3x%a9", "/%ed%a0%80", "/%f4%90%80%80",
    ],
)  # fmt: skip
def test_a_path_that_can_be_read_in_two_ways_is_refused(path):
    with pytest.raises(ValueError, match="path"):
        canonical_path(path)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/", "/"),
        ("/a/b.c/", "/a/b.c/"),
        ("/%7Ea%7e", "/~a~"),
        ("/%40scope%2fname", "/@scope%2Fname"),
        ("/libstdc%2b%2b6", "/libstdc++6"),
        ("/%e2%82%ac%F0%9F%98%80", "/%E2%82%AC%F0%9F%98%80"),
        ("/@scope%2fname", "/@scope%2Fname"),
        ("/a%20b", "/a b"),
        ("/%c3%a9", "/%C3%A9"),
        ("/...", "/..."),
        ("/a;v=1", "/a;v=1"),
    ],
)
def test_a_path_is_written_in_one_way(path, written):
    assert canonical_path(path) == written


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/**", "/", True),
        ("/**", "/a/b%2Fc", True),
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/*", "/a/b%2Fc", False),
        ("/a/*", "/a/", True),
        ("/@*%2F*", "/@scope%2Fname", True),
        ("/a.b", "/axb", False),
        ("/a/**/c", "/a/b/b/c", True),
        ("/a", "/a/", False),
        ("/a", "/a\nb", False),
    ],
)
def test_globs(pattern, path, fits):
    assert (glob(pattern).fullmatch(path) is not None) == fits


@given(st.text(max_size=12))
def test_what_clients_escape_is_read_as_it_was_meant(text):
    path = "/" + quote(text, safe="@")
    try:
        written = canonical_path(path)
    except ValueError:
        assert set(text) & {chr(code) for code in (*range(0x20), 0x25, 0x5C, 0x7F, 0x2F)} or (
            text.split(";")[0] in (".", "..")
        )
        return
    assert unquote(written) == "/" + text


@given(st.binary(max_size=6))
def test_escapes_are_utf8(data):
    path = "/" + "".join(f"%{byte:02x}" for byte in data)
    try:
        canonical_path(path)
    except ValueError:
        return
    data.decode()
    assert not any(chr(byte).isalnum() for byte in data if byte < 128)


@given(st.text("a/.%2eEfF5cC;*", max_size=16))
def test_nothing_that_climbs_comes_out(text):
    try:
        path = canonical_path("/" + text)
    except ValueError:
        return
    segments = path.replace("%2F", "/").split("/")
    assert not {".", ".."} & set(segments)
    assert canonical_path(path) == path
