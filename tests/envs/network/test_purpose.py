"""What registries are told of a task."""

from dataclasses import replace

import pytest
from support import make_tiny_environment, tiny_task

from codegym.envs.purpose import names_of, purpose_of
from codegym.errors import DataError
from codegym.tasks import load_environment


async def test_a_registry_knows_date_names_and_solution_of_the_task(setting, tmp_path):
    tiny = make_tiny_environment(tmp_path / "tiny")
    named = replace(tiny, aliases=("tinycalc-fork", "@numbers/tiny"))
    ready = await setting.ready(tiny_task(tiny), named)
    purpose = purpose_of(ready)
    assert {"tiny", "tinycalc", "tinycalc-fork", "@numbers/tiny"} <= set(purpose.denied)
    assert set(names_of(replace(ready, environment=tiny))) == {*purpose.denied} - {*named.aliases}
    assert purpose.as_of == ready.task.created_at
    assert any("ordered[middle - 1] + ordered[middle]" in each for each in purpose.markers)


def test_an_alias_is_a_name_of_an_index(tmp_path):
    folder = make_tiny_environment(tmp_path / "tiny").folder
    file = folder / "environment.toml"
    text = file.read_text()
    file.write_text(f'aliases = ["tiny-calc", "@numbers/tiny"]\n{text}')
    assert load_environment(folder).aliases == ("tiny-calc", "@numbers/tiny")
    file.write_text(f'aliases = ["tiny calc"]\n{text}')
    with pytest.raises(DataError, match="package index"):
        load_environment(folder)
