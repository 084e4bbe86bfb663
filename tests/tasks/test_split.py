"""The evaluation split: pinned to the byte, and refused where anything of it changed."""

import json
import shutil

import pytest

from codegym.errors import DataError
from codegym.resources import data_root
from codegym.tasks import resolve
from codegym.tasks.split import SPLIT, chosen, open_split, read_split

NAME = "codegym-eval-v1"


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(data_root("environments") / NAME, tmp_path / NAME)
    return tmp_path / NAME


def rewrite(folder, change):
    fields = json.loads((folder / SPLIT).read_text())
    change(fields)
    (folder / SPLIT).write_text(json.dumps(fields))


def test_it_is_half_of_each_bundled_environment_by_the_ids_alone():
    split, source = read_split(data_root("environments") / NAME), resolve(NAME)
    expected = [
        task_id
        for name in split.environments
        for task_id in chosen(NAME, [task.instance_id for task in resolve(name).all_tasks()])
    ]
    assert sorted(source.ids) == sorted(split.tasks) == sorted(expected)
    assert len(source) >= 35
    assert source.digest != resolve(None).digest


def test_what_is_chosen_does_not_depend_on_what_else_there_is_to_an_environment():
    ids = [f"x-{number}" for number in range(21)]
    assert chosen(NAME, ids) == chosen(NAME, ids[::-1])
    assert len(chosen(NAME, ids)) == 11
    assert chosen("codegym-eval-v2", ids) != chosen(NAME, ids)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("tasks.", lambda fields: fields["tasks"].update({min(fields["tasks"]): "0" * 64})),
        ("tasks.x", lambda fields: fields["tasks"].update({"x": "0" * 64})),
        ("environments.kvlog", lambda fields: fields["environments"].update(kvlog="0" * 64)),
        ("taks", lambda fields: fields.update(taks={})),
        ("tasks", lambda fields: fields.pop("tasks")),
    ],
    ids=["row", "absent", "environment", "unknown", "missing"],
)
def test_what_is_not_as_pinned_is_refused(copy, field, change):
    rewrite(copy, change)
    with pytest.raises(DataError, match=f"{SPLIT}.*{field}"):
        open_split(copy, resolve)


def test_an_environment_that_is_not_bundled_is_refused(copy):
    rewrite(copy, lambda fields: fields["environments"].update(other="0" * 64))
    with pytest.raises(DataError, match="other"):
        open_split(copy, resolve)
