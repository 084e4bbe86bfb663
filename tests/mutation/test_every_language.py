"""What holds of every edit in every language: it parses, changes something, moves nothing else."""

import os
import re
import shutil
import sysconfig
import zipfile
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from compilers import COMPILERS
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.mutation.operators import load_operators
from codegym.syntax import apply_edits, changes, grammar, parse, reparse, walk

SAMPLES = {one.suffix: one for one in (Path(__file__).parent / "samples").glob("*.*")}
LANGUAGES = ["python", "javascript", "typescript", "go", "rust", "java", "c"]
KINDS = ["FixTests", "ImplementFeature"]


def sample(language):
    return SAMPLES[grammar(language).suffixes[0]].read_bytes()


def flaws(parsed):
    """How many parts were not understood."""
    waiting, found = [parsed.root], 0
    while waiting:
        node = waiting.pop()
        found += node.is_error or node.is_missing
        waiting += node.children if node.has_error else ()
    return found


def check(parsed, edit):
    """One edit keeps all promises."""
    source = parsed.source
    assert changes(source, edit)
    after = reparse(parsed, [edit])
    assert after.source[: edit.start] == source[: edit.start]
    assert after.source.endswith(source[edit.end :])
    said = source[max(0, edit.start - 80) : edit.end + 40].decode(errors="replace")
    assert flaws(after) <= flaws(parsed), (said, edit)
    after.source.decode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_edit_of_a_sample_parses(find_edits, language):
    parsed = parse(sample(language), language)
    assert parsed.is_clean
    for operator in load_operators((), language, KINDS):
        edits = find_edits(operator, parsed.source)
        assert edits, f"{operator.id} finds nothing in the sample"
        for edit in edits:
            check(parsed, edit)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_seed_decides(find_edits, language):
    source = sample(language)
    differ = 0
    for operator in load_operators((), language, KINDS):
        once = find_edits(operator, source, 3)
        assert once == find_edits(operator, source, 3)
        differ += once != find_edits(operator, source, 4)
    assert differ


PIECES = st.sampled_from(["é", "日本", "🦆", "ж", "\t", "x", " "])
COMMENTS = {"python": "# %s\n"}


@settings(max_examples=14, deadline=None)
@given(st.sampled_from(LANGUAGES), st.lists(PIECES, max_size=9).map("".join), st.integers(0, 99))
def test_letters_before_an_edit_do_not_move_it(find_edits, language, letters, seed):
    before = (COMMENTS.get(language, "/* %s */\n") % letters).encode()
    plain = sample(language).removeprefix(b"#!/usr/bin/env node\n")
    operators = load_operators((), language, KINDS)
    operator = operators[seed % len(operators)]
    moved = [
        (one.start - len(before), one.end - len(before), one.replacement)
        for one in find_edits(operator, before + plain, seed)
    ]
    assert moved == [
        (one.start, one.end, one.replacement) for one in find_edits(operator, plain, seed)
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_that_end_otherwise(find_edits, language):
    parsed = parse(sample(language).replace(b"\n", b"\r\n"), language)
    for operator in load_operators((), language, KINDS):
        for edit in find_edits(operator, parsed.source)[:4]:
            check(parsed, edit)
            after = apply_edits(parsed.source, [edit])
            assert not re.search(rb"(?<!\r)\n", after), (operator.id, edit)


def texts(language):
    """Sources that are on this machine, then the sample and what edits make of it, without end."""
    for file in islice(_installed(language), 400):
        if 1_000 < file.stat().st_size < 60_000:
            yield file.read_bytes()
    rng = np.random.default_rng(0)
    operators = load_operators((), language, ["FixTests"])
    source = sample(language)
    while True:
        yield source
        for operator in operators:
            edits = _found(operator, parse(source, language), rng)
            if edits:
                source = apply_edits(source, [edits[int(rng.integers(len(edits)))]])


def _found(operator, parsed, rng):
    inert = grammar(parsed.language).inert
    nodes = walk(parsed.root, inert)
    return [edit for node in nodes for edit in operator(node, parsed.source, rng)]


def _installed(language):
    """Files of a language that come with what is installed, in an order that mixes folders."""
    endings = grammar(language).suffixes
    found = [
        path
        for root in _roots(language)
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(endings) and (path := Path(folder) / name).is_file()
    ]
    return iter(sorted(found, key=lambda path: (hash_of(path.name), path)))


def hash_of(name):
    """The same in every process."""
    return sum((at + 1) * byte for at, byte in enumerate(name.encode())) % 997


def _roots(language):
    purelib = Path(sysconfig.get_path("purelib"))
    standard = Path(sysconfig.get_path("stdlib"))
    tool = shutil.which({"typescript": "tsc", "go": "gofmt", "rust": "rustc"}.get(language, "node"))
    beside = Path(tool).resolve().parents[1] if tool else purelib
    return {
        "python": [standard / "asyncio", standard / "email", standard / "json", purelib / "rich"],
        "javascript": [Path("/usr/lib/node_modules"), Path("/usr/share/nodejs")],
        "typescript": [beside.parent],
        "go": [beside / "src", Path("/usr/share/doc/git")],
        "rust": [Path.home() / ".cargo/registry/src", Path.home() / ".rustup/toolchains"],
        "java": [],
        "c": [purelib, Path("/usr/include/linux"), Path("/usr/share/doc")],
    }[language]


def _java(tmp_path):
    """Some of the sources that come with Java."""
    for archive in sorted(Path("/usr/lib/jvm").glob("*/lib/src.zip"))[-1:]:
        if not archive.is_file():  # a link to what is not installed
            break
        with zipfile.ZipFile(archive) as held:
            names = [one for one in held.namelist() if one.startswith("java.base/java/util/")]
            held.extractall(tmp_path, names[::4])
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_thousand_edits(language, tmp_path, monkeypatch):
    if language == "java":
        monkeypatch.setitem(globals(), "_roots", lambda _: [_java(tmp_path)])
    rng = np.random.default_rng(1)
    operators = load_operators((), language, KINDS)
    done, letters = 0, 0
    for source in texts(language):
        parsed = parse(source, language)
        if not parsed.is_clean:
            continue  # nor would any task be made of it
        for operator in operators:
            edits = _found(operator, parsed, rng)
            for at in rng.permutation(len(edits))[:12]:
                check(parsed, edits[int(at)])
                done += 1
                letters += not source.isascii()
        if done >= 10_000 and letters >= 1_000:
            return


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("language", LANGUAGES)
def test_their_own_tools_can_read_them(language, tmp_path):
    program, ask = COMPILERS[language]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    rng = np.random.default_rng(2)
    parsed = parse(sample(language), language)
    ending = ".mjs" if language == "javascript" else SAMPLES[grammar(language).suffixes[0]].suffix
    files = {}
    for operator in load_operators((), language, KINDS):
        edits = _found(operator, parsed, rng)
        for at in rng.permutation(len(edits))[:10]:
            file = tmp_path / f"m{len(files)}" / f"Shop{ending}"
            file.parent.mkdir()
            file.write_bytes(apply_edits(parsed.source, [edits[int(at)]]))
            files[file] = operator.id
    said = ask(list(files))
    assert said.keys() == files.keys()
    assert [files[one] for one, verdict in said.items() if verdict == "syntax"] == []
    counted = Counter(said.values())
    print(f"{language}: {counted['fine']} of {len(said)} compile; {counted['types']} fail by types")
    assert counted["fine"] > len(said) / 2
