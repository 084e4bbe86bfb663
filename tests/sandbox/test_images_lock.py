"""Lock files: pinned names with hashes, nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.sandbox.images.lock import Pin, normalise, read_lock

HASH = "0123456789abcdef" * 4
names = st.from_regex(r"[a-z][a-z0-9]{0,8}([-_.][a-z0-9]{1,4})?", fullmatch=True)
hashes = st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), min_size=1, max_size=3)
versions = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,3}(\.?(rc|post)[0-9])?", fullmatch=True)


def write(folder, text):
    path = folder / "requirements.lock"
    path.write_text(text)
    return path


@given(
    pins=st.lists(
        st.tuples(names, versions, hashes), max_size=5, unique_by=lambda p: normalise(p[0])
    ),
    glue=st.sampled_from([" ", " \\\n    "]),
    comment=st.sampled_from(["", "  # via x", "\n# a remark\n\n"]),
)
def test_what_tools_write_is_read_back(tmp_path_factory, pins, glue, comment):
    lines = [
        f"{name}=={version}{glue}" + glue.join(f"--hash=sha256:{each}" for each in digests)
        for name, version, digests in pins
    ]
    path = write(tmp_path_factory.mktemp("lock"), "".join(f"{line}{comment}\n" for line in lines))
    read, raw = read_lock(path)
    assert read == tuple(Pin(normalise(n), v, tuple(d)) for n, v, d in pins)
    assert raw == path.read_bytes()


def test_extras_and_markers_are_read(tmp_path):
    text = f'Foo_Bar[a,b]==1.0 ; python_version < "3.12" --hash=sha256:{HASH}\n'
    pins, _ = read_lock(write(tmp_path, text))
    assert pins == (Pin("foo-bar", "1.0", (HASH,)),)


@pytest.mark.parametrize(
    "line",
    [
        "pytest",
        "pytest>=8",
        "pytest==8.*",
        "pytest==8.0",
        "pytest==8.0 --hash=md5:abc",
        f"pytest==8.0 --hash=sha256:{HASH} --global-option=x",
        "-r other.txt",
        "-e .",
        "--index-url https://example.org/simple",
        f"pkg @ https://example.org/p.whl --hash=sha256:{HASH}",
        "./local.whl",
        "pytest==8.0 \\",
    ],
)
def test_anything_else_is_refused_with_its_line(tmp_path, line):
    path = write(tmp_path, f"# first\n\n{line}\n")
    with pytest.raises(DataError, match=r"requirements\.lock:3: "):
        read_lock(path)


def test_a_name_pinned_twice_is_refused(tmp_path):
    line = f"a-b==1 --hash=sha256:{HASH}\n"
    with pytest.raises(DataError, match="a-b is pinned twice"):
        read_lock(write(tmp_path, line + line.replace("a-b", "A_b")))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"requirements\.lock: cannot be read"):
        read_lock(tmp_path / "requirements.lock")
