"""A suite that talks to a real PostgreSQL on its sandbox's loopback."""

import os
from pathlib import Path

import pytest

from codegym import authoring
from codegym.errors import DataError, UsageError
from codegym.sandbox.images.packages import files_of
from codegym.tasks.sources import environment, resolve

#: The package's own version differs between releases of the system.
SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))

STORE = """\
import subprocess


def ask(sql):
    command = ["{bin}/psql", "-h", "127.0.0.1", "-U", "agent", "-d", "postgres", "-qAtc", sql]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout.strip()


def total(prices):
    ask("drop table if exists item")
    ask("create table item (price int)")
    ask("insert into item values " + ", ".join(f"({{price}})" for price in prices))
    return int(ask("select sum(price) from item"))
"""
TESTS = """\
from store import ask, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_it_is_a_server():
    assert ask("show server_version").startswith("{version}")
    assert ask("select inet_server_addr()") == "127.0.0.1"


def test_each_sandbox_has_its_own():
    assert ask("select count(*) from pg_tables where tablename = 'planted'") == "0"
    ask("create table planted (x int)")
"""
BUG = """\
--- a/store.py
+++ b/store.py
@@ -13,4 +13,4 @@
     ask("drop table if exists item")
     ask("create table item (price int)")
     ask("insert into item values " + ", ".join(f"({price})" for price in prices))
-    return int(ask("select sum(price) from item"))
+    return int(ask("select max(price) from item"))
"""
DECLARED = """\
system_packages = ["postgresql-{version}", "postgresql-client-{version}"]
env = {{ PGTZ = "UTC" }}
[[services]]
name = "postgresql"
start = '''
{bin}/initdb -D /tmp/pg -A trust -U agent --locale=C -E UTF8 &&
exec {bin}/postgres -D /tmp/pg -k /tmp -c listen_addresses=127.0.0.1 -c fsync=off
'''
ready = "{bin}/pg_isready -h 127.0.0.1 -q"
"""


@pytest.fixture
def server():
    """Folder of a PostgreSQL's programs, and its version. Where CI says so, it must be there."""
    if not SERVERS:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("POSTGRESQL IS NOT INSTALLED: apt-get install postgresql")
    return {"bin": str(SERVERS[-1].parent), "version": SERVERS[-1].parent.parent.name}


@pytest.fixture
def project(tmp_path, server):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "store.py").write_text(STORE.format(**server))
    (folder / "test_store.py").write_text(TESTS.format(**server))
    return folder


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
@pytest.mark.timeout(300)  # each of its runs makes a database anew
async def test_a_suite_with_a_real_database(setting, project, server, tmp_path):
    file = tmp_path / "needs.toml"
    file.write_text(DECLARED.format(**server))
    declaration = authoring.read_declaration(file)
    added = await authoring.add_environment(str(project), setting, declaration=declaration)
    assert (added.tests, added.excluded) == (3, {})
    home = environment("store")
    assert [each.name for each in home.services] == ["postgresql"]
    # The database is in the sandbox of a grade, too: a task from a bug is proved against it.
    patch = tmp_path / "bug.patch"
    patch.write_text(BUG)
    made = await authoring.from_patch(home, patch, setting)
    assert made.task.fail_to_pass == ("test_store.py::test_total",)
    report = await authoring.check(resolve("store"), setting, repeats=1)
    assert [each.problem for each in report.tasks] == [""]


@pytest.mark.network
@pytest.mark.usefixtures("index", "at_home")
async def test_without_it_the_project_is_refused(setting, project):
    (project / "test_store.py").write_text(
        "import socket\n\n\ndef test_it():\n    socket.create_connection(('127.0.0.1', 5432))\n"
    )
    with pytest.raises(UsageError, match=r"nobody declared \(PostgreSQL"):
        await authoring.add_environment(str(project), setting)


def test_files_of_a_package_are_found(server):
    found = {str(path) for path in files_of([f"postgresql-{server['version']}"])}
    assert f"{server['bin']}/postgres" in found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sevices = []\n", "services"),
        ("[[services]]\nname = 'x'\nstart = 'y'\n", "ready"),
        ("system_packages = ['../x']\n", "no system package"),
        ("env = {", "not TOML"),
    ],
)
def test_a_declaration_that_is_wrong(tmp_path, text, said):
    file = tmp_path / "needs.toml"
    file.write_text(text)
    with pytest.raises(DataError, match=said):
        authoring.read_declaration(file)
    with pytest.raises(DataError, match="cannot be read"):
        authoring.read_declaration(tmp_path / "none.toml")
