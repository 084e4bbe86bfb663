"""The pages hang together: decisions are shown, links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("environments", "curricula", "proxy")),
    *sorted((ROOT / "docs/pages").rglob("*.md")),
]


def test_every_decision_is_on_the_site():
    page = (ROOT / "docs/pages/design.md").read_text()
    decisions = sorted(path.name for path in (ROOT / "docs/design").glob("*.md"))
    assert re.findall(r'"design/([^"]+)"', page) == decisions


def test_decisions_are_numbered_without_gaps():
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/design").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(file):
    links = [link for link in LINK.findall(file.read_text()) if "://" not in link]
    assert [link for link in links if not (file.parent / link).exists()] == []


def test_the_setup_of_readme_is_two_commands():
    block = re.search(r"<!-- setup -->\n```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert block is not None
    assert len(block[1].splitlines()) == 2
