"""Rows: what is written reads back; what is wrong is named by file, line and field."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import DataError
from codegym.tasks import from_row, read_rows, to_row, write_rows
from codegym.tasks import jsonl as lines
from codegym.types import Task

COMMIT = "0123456789" * 4

ROW: dict[str, Any] = {
    "instance_id": "kvlog-1",
    "repo": "kvlog",
    "base_commit": COMMIT,
    "patch": "--- a/x\n+++ b/x\n",
    "FAIL_TO_PASS": ["tests/test_a.py::test_x[é-\\n]"],
    "PASS_TO_PASS": ["tests/test_a.py::test_y", "tests/test_a.py::test_z"],
    "environment": "kvlog",
}

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
IDS = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(str.isprintable),
    min_size=1,
    max_size=6,
    unique=True,
)
JSON = st.dictionaries(
    TEXT,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    ids = draw(IDS)
    cut = draw(st.integers(1, len(ids)))
    return Task(
        instance_id=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,20}", fullmatch=True)),
        environment=draw(TEXT.filter(bool)),
        base_commit=draw(st.from_regex(r"[0-9a-f]{40}", fullmatch=True)),
        patch=draw(TEXT.filter(bool)),
        fail_to_pass=tuple(ids[:cut]),
        pass_to_pass=tuple(ids[cut:]),
        test_patch=draw(TEXT),
        start_patch=draw(TEXT),
        problem_statement=draw(TEXT),
        hints_text=draw(TEXT),
        created_at=draw(TEXT),
        version=draw(TEXT),
        repo=draw(TEXT),
        kind=draw(st.sampled_from(["FixTests", "FixIssue", "ImplementFeature"])),
        language=draw(TEXT),
        suite=draw(TEXT),
        hidden=draw(st.frozensets(st.sampled_from(ids))),
        provenance=draw(JSON),
        features=draw(JSON),
    )


@given(st.lists(tasks(), max_size=4, unique_by=lambda task: task.instance_id))
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, written: list[Task]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "tasks.jsonl"
    assert write_rows(path, written) == len(written)
    assert list(read_rows(path)) == written
    before = path.read_bytes()
    write_rows(path, read_rows(path))
    assert path.read_bytes() == before


@given(tasks())
def test_a_row_is_its_task(task: Task) -> None:
    row = to_row(task)
    assert from_row(json.loads(json.dumps(row)), "x") == task
    assert list(row)[:11] == [
        "instance_id", "repo", "base_commit", "patch", "test_patch", "problem_statement",
        "hints_text", "created_at", "version", "FAIL_TO_PASS", "PASS_TO_PASS",
    ]  # fmt: skip
    assert isinstance(row["FAIL_TO_PASS"], list)


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("rows") / "tasks.jsonl"
    path.write_bytes(content)
    if content:
        with pytest.raises(DataError):
            list(read_rows(path))


@given(st.sampled_from(sorted(to_row(from_row(ROW, "x")))), JSON | TEXT | st.integers() | st.none())
def test_no_value_does_worse_than_a_data_error(key: str, value: Any) -> None:
    said = ""
    try:
        task = from_row({**ROW, key: value}, "x", line=3)
    except DataError as error:
        said = str(error)
    assert said.startswith(f"x:3: {key}") or to_row(task)[key] == value


def test_lists_may_be_json_text() -> None:
    encoded = {**ROW, **{key: json.dumps(ROW[key]) for key in ("FAIL_TO_PASS", "PASS_TO_PASS")}}
    assert from_row(encoded, "x") == from_row(ROW, "x")
    assert to_row(from_row(encoded, "x"))["FAIL_TO_PASS"] == ROW["FAIL_TO_PASS"]


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"FAIL_TO_PAS": []}, "FAIL_TO_PAS", "did you mean 'FAIL_TO_PASS'?"),
        ({"fail_to_pass": []}, "fail_to_pass", "unknown key"),
        ({"FAIL_TO_PASS": []}, "FAIL_TO_PASS", "at least 1"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS", "at least 1"),
        ({"FAIL_TO_PASS": "test_x"}, "FAIL_TO_PASS", "not a JSON list"),
        ({"FAIL_TO_PASS": '"test_x"'}, "FAIL_TO_PASS", "valid list"),
        ({"FAIL_TO_PASS": [1]}, "FAIL_TO_PASS.0", "string"),
        ({"FAIL_TO_PASS": ["a", "a"]}, "FAIL_TO_PASS", "'a' is there twice"),
        ({"PASS_TO_PASS": ["a", "b", "a"]}, "PASS_TO_PASS", "'a' is there twice"),
        ({"FAIL_TO_PASS": ["a"], "PASS_TO_PASS": ["a"]}, "PASS_TO_PASS", "in FAIL_TO_PASS too"),
        ({"PASS_TO_PASS": ["a\nb"]}, "PASS_TO_PASS.0", "no test id"),
        ({"PASS_TO_PASS": [""]}, "PASS_TO_PASS.0", "no test id"),
        ({"PASS_TO_PASS": None}, "PASS_TO_PASS", "list"),
        ({"hidden": ["other"]}, "hidden", "in neither"),
        ({"patch": 1}, "patch", "string"),
        ({"patch": ""}, "patch", "at least 1"),
        ({"kind": "FixTest"}, "kind", "did you mean 'FixTests'?"),
        ({"kind": 1}, "kind", "string"),
        ({"base_commit": "HEAD"}, "base_commit", "full commit hash"),
        ({"instance_id": "../../x"}, "instance_id", "no id"),
        ({"instance_id": ".."}, "instance_id", "no id"),
        ({"features": []}, "features", "dictionary"),
        ({"features": {"a": "\ud800"}}, "features", "surrogates"),
        ({"problem_statement": "\ud800"}, "problem_statement", "surrogate"),
    ],
)
def test_a_mistake_is_named(
    tmp_path: Path, change: dict[str, Any], field: str, problem: str
) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{json.dumps({**ROW, 'instance_id': 'two', **change})}\n")
    rows = read_rows(path)
    assert next(rows).instance_id == "kvlog-1"
    with pytest.raises(DataError) as caught:
        next(rows)
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 2, field)
    assert problem in caught.value.problem


def test_a_missing_key_is_named() -> None:
    for key in ("instance_id", "base_commit", "patch", "FAIL_TO_PASS", "environment"):
        row = {name: value for name, value in ROW.items() if name != key}
        with pytest.raises(DataError, match=f"x:7: {key}: field required"):
            from_row(row, "x", line=7)


def test_an_id_twice_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" * 2)
    with pytest.raises(DataError, match=r"tasks\.jsonl:2: instance_id: .*already, in line 1"):
        list(read_rows(path))
    with pytest.raises(DataError, match=r":2: instance_id: .*already, in line 1"):
        write_rows(tmp_path / "out.jsonl", [from_row(ROW, "x")] * 2)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"instance_id": ', "not JSON"),
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"[1]", "not a JSON object"),
        (b"", "the line is blank"),
        (b'{"a": 1, "a": 2}', "the key 'a' is there twice"),
        (b'{"features": {"a": NaN}}', "NaN is not JSON"),
        (b'{"features": {"a": -Infinity}}', "-Infinity is not JSON"),
        (b'{"a": ' + b"[" * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON that can be read"),
        (b'{"a": 1} {"b": 2}', "not JSON: Extra data, column 10"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(json.dumps(ROW).encode() + b"\n" + line + b"\n")
    rows = read_rows(path)
    next(rows)
    with pytest.raises(DataError) as caught:
        next(rows)
    assert (caught.value.path, caught.value.line) == (path, 2)
    assert problem in caught.value.problem


def test_a_line_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps({**ROW, "hints_text": "x" * 1000}))
    with pytest.raises(DataError, match=r":1: longer than 1000 bytes"):
        list(read_rows(path))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_rows(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        list(read_rows(tmp_path))


def test_rows_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    body = "x" * 200_000

    def many() -> Iterator[Task]:
        for number in range(100):
            yield from_row({**ROW, "instance_id": f"t{number}", "hints_text": body}, "x")

    tracemalloc.start()
    try:
        write_rows(path, many())
        assert sum(1 for _ in read_rows(path)) == 100
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 5_000_000


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    task = from_row(ROW, "x")
    write_rows(path, [task])

    def broken() -> Iterator[Task]:
        yield task
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(path, broken())
    assert list(read_rows(path)) == [task]
    assert list(tmp_path.iterdir()) == [path]
