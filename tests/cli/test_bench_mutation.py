"""``codegym bench --mutation``, on a small environment."""

import json

import pytest
from support import make_tiny_home
from typer.testing import CliRunner

from codegym.cli.app import app


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    ran = CliRunner().invoke(app, ["bench", "--mutation", "tiny", "--times", "2", "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert list(found) == [
        "mutation_fast_ms",
        "mutation_confirm_ms",
        "mutation_differing_percent",
        "mutation_null_valid",
    ]
    assert found["mutation_fast_ms"]["n"] > 0
    assert found["mutation_fast_ms"]["ratio"] > 0
    assert found["mutation_confirm_ms"]["n"] > 0
    assert found["mutation_differing_percent"]["p50"] == 0.0
    assert found["mutation_null_valid"]["p50"] == 0.0
    assert found["mutation_null_valid"]["n"] >= 20


def test_files_that_no_edit_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(make_tiny_home(tmp_path))
    ran = CliRunner().invoke(app, ["bench", "--mutation", "tiny", "--files", "nowhere/*", "--json"])
    assert ran.exit_code == 2
    assert "no edit of tiny" in ran.output
