"""Well-known packages, as users add them: `pytest -m packages`. Each suite runs three times."""

import json
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.packages,
    pytest.mark.network,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("index"),
]


def add(folder, *arguments):
    command = [sys.executable, "-m", "codegym", "environment", "add", *arguments, "--json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("package", "tests", "excluded", "noted"),
    [
        ("boltons==25.0.0", 400, set(), ""),
        ("tinydb==4.8.2", 190, {"skipped"}, ""),
        ("cachetools==6.0.0", 200, set(), ""),
        ("humanize==4.12.3", 600, {"skipped", "needs a plug-in of pytest"}, ""),
        ("markupsafe==3.0.2", 70, {"skipped"}, "compiled modules (1)"),
        ("more-itertools==10.7.0", 600, {"skipped"}, "always_iterable"),
    ],
)
def test_a_well_known_package_is_added(at_home, package, tests, excluded, noted):
    ran = add(at_home, f"pypi:{package}")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["name"] == package.partition("==")[0]
    assert found["tests"] >= tests
    assert set(found["excluded"]) <= excluded, found["excluded"]
    assert noted in " ".join(found["notes"])


def test_a_package_without_tests_is_refused_with_the_way_out(at_home):
    ran = add(at_home, "pypi:sortedcontainers==2.4.0")
    assert ran.returncode != 0
    assert "holds no tests" in ran.stderr
    assert "add their repository instead" in ran.stderr
