"""A training's curves, as files."""

import json
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from codegym.cli.app import app
from codegym.training.curves import curves, smoothed

pytestmark = pytest.mark.train


@pytest.fixture
def training(tmp_path):
    folder = tmp_path / "rl <&>"
    folder.mkdir()
    lines = [
        {"step": n, "loss": 1 / n, "reward": n / 9, "odd": 1, "curriculum/skill": 0.5}
        for n in range(1, 9)
    ]
    lines[3] = {"step": 4, "reward": None, "loss": 0.2}
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text + '{"step": 9, "lo')  # it is under way
    return folder


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_and_a_picture(training):
    pytest.importorskip("matplotlib")
    ran = CliRunner().invoke(app, ["plot", str(training), "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert told["steps"] == 8
    assert (training / "curves.png").read_bytes().startswith(b"\x89PNG")

    page = _Page()
    page.feed((training / "curves.html").read_text())
    assert page.tags.count("svg") == 3
    assert page.links == []
    assert "script" not in page.tags
    assert "rl <&>" in "".join(page.text)


def test_only_what_was_measured_is_drawn():
    lines = [{"step": 1.0, "loss": 3.0}, {"step": 2.0, "loss": 1.0, "reward": 0.5}]
    assert curves(lines) == {"loss": ([1.0, 2.0], [3.0, 1.0]), "reward": ([2.0], [0.5])}


def test_smoothing_begins_where_the_curve_does():
    assert smoothed([]) == []
    assert smoothed([2.0, 2.0, 2.0]) == pytest.approx([2.0, 2.0, 2.0])
    assert smoothed([0.0, 1.0]) == pytest.approx([0.0, 0.1])


def test_a_folder_without_a_training_is_named(tmp_path):
    ran = CliRunner().invoke(app, ["plot", str(tmp_path)])
    assert ran.exit_code == 2
    assert "no step was measured yet" in ran.output
