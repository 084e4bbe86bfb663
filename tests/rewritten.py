"""What tests of rewriting share: a stand-in for the observer, and real runs of pytest."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from random import Random

from codegym.grading.observe.modules import TestModule, parse_module
from codegym.grading.observe.siblings import siblings

CODE = """
class Odd(Exception): pass
class Box:
    def __init__(self, *items): self.items = list(items)
    def __eq__(self, other): return isinstance(other, Box) and self.items == other.items
    def __len__(self): return len(self.items)
    def push(self, item): self.items.append(item); return item
def double(x): return x + x
def half(n):
    if n % 2: raise Odd(f"{n} is odd")
    return n // 2
def parse(text):
    if not text: raise ValueError("nothing to parse")
    return [int(part) for part in text.split(",")]
def fill(found): found.append(1); return found
LIMIT = 7
"""
OBSERVER = """
import json, os, pytest
def _note(site, role, value):
    with open(os.environ["SEEN"], "a") as file:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        file.write(json.dumps([test, site, role, repr(value)]) + chr(10))
    return value
def saw(site, value): return _note(site, "a", value)
def meant(site, value): return _note(site, "e", value)
def rows(size, make):
    try:
        made = list(make())
        cells = (getattr(row, "values", row) for row in made)
        return made if size is None or all(len(row) == size for row in cells) else []
    except Exception: return []
class raises:
    def __init__(self, site, context, expected, match=None):
        self.site, self.context, self.expected = site, context, (expected, match)
    def __enter__(self): return self.context.__enter__()
    def __exit__(self, *what):
        saw(self.site, what[1]); meant(self.site, self.expected)
        return self.context.__exit__(*what)
class raised:
    def __init__(self, site): self.site, self.info = site, pytest.ExceptionInfo.for_later()
    def __enter__(self): return self.info
    def __exit__(self, *what):
        saw(self.site, what[1])
        if what[1] is not None:
            self.info.fill_unfilled(what); self.info.exception = what[1]
        return True
"""


def module(text: str, path: str = "test_it.py") -> TestModule:
    """A test module; ``code`` is what is under test."""
    found = parse_module(path, textwrap.dedent(text).encode(), ["code_under_test"])
    if found is None:
        raise ValueError(f"cannot be read:\n{text}")
    return found


def shipped(text: str) -> str:
    """The module's source with all sites observed."""
    made = module(text)
    return made.shipped([site.id for site in made.sites])


def sides(text: str) -> list[tuple[str, str, bool]]:
    """Of each site: its operation, its sides, and whether it is sealed."""
    return [(site.op, site.sides, site.sealed) for site in module(text).sites]


def run(sources: Mapping[str, str], folder: Path) -> tuple[dict[str, dict[str, str]], list[list]]:
    """Run modules with pytest: outcomes by file and test, and what was seen."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "code_under_test.py").write_text(CODE)
    (folder / "_cg_observer.py").write_text(OBSERVER)
    for name, text in sources.items():
        (folder / name).write_text(text)
    arguments = ["-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-c", "/dev/null"]
    environment = {
        "SEEN": str(folder / "seen"),
        "PYTHONPATH": str(folder),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, f"--rootdir={folder}", *sources],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes: dict[str, dict[str, str]] = {name: {} for name in sources}
    for line in done.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        name, _, test = rest.partition(" - ")[0].partition("::")
        if outcome in {"PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"} and name in outcomes:
            outcomes[name][test] = outcome
    seen = folder / "seen"
    lines = seen.read_text().splitlines() if seen.exists() else []
    return outcomes, [json.loads(line) for line in lines]


def candidates(text: str, test: str, count: int = 8, seed: int = 1) -> list[str]:
    """The sources of a test's siblings alone."""
    made = module(text)
    function = next(part for part in made.tests() if part.name == test)
    found = siblings(made, test, Random(seed), count)
    return [made.copy_of(function, one.name, one.edits, mirrored=one.mirrored) for one in found]
