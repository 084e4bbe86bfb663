"""The pages hang together: decisions are shown, links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PAGES = sorted((ROOT / "docs/pages").rglob("*.md"))
FILES = [
    *(ROOT / name for name in ("README.md", "AGENTS.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("environments", "curricula", "proxy")),
    *PAGES,
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


@pytest.mark.parametrize("file", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_includes_are_whole_and_name_files(file):
    lines = [line.strip() for line in file.read_text().splitlines()]
    # A formatter of code takes the marker for an expression, and spaces it out.
    markers = [line for line in lines if re.match(r"-+\s*8\s*<", line)]
    names = [found[1] for line in markers if (found := re.fullmatch(r'--8<-- "([^"]+)"', line))]
    assert len(names) == len(markers), markers
    roots = (ROOT / "docs", ROOT)
    assert [name for name in names if not any((root / name).is_file() for root in roots)] == []


def test_every_example_is_shown():
    text = "".join(page.read_text() for page in PAGES)
    examples = (ROOT / "docs/examples").glob("*.py")
    assert [path.name for path in examples if f'--8<-- "examples/{path.name}"' not in text] == []
