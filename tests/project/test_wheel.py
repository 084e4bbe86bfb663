"""The built wheel, installed in a clean environment far from the checkout, does all it promises."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("environments", "curricula", "proxy")
HEAVY = (
    *("docker", "torch", "transformers", "stable_baselines3", "ray", "mitmproxy"),
    *("git", "typer", "rich"),
)


def _build(source: Path, out: Path, *kinds: str) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(out)]
    subprocess.run([*command, str(source)], check=True, capture_output=True, timeout=300)


def _data(wheel: Path) -> dict[str, bytes]:
    prefix = "codegym/_data/"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefix)]
        return {name.removeprefix(prefix): archive.read(name) for name in names}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A clone with the work tree's state laid over it, and junk lying about."""
    folder = tmp_path_factory.mktemp("checkout") / "codegym"
    safe = ["git", "-c", f"safe.directory={ROOT}", "-c", f"safe.directory={ROOT}/.git"]
    subprocess.run([*safe, "clone", "-q", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    for name in ("environments/stray.py", "environments/x/__pycache__/m.pyc", "proxy/debug.log"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"junk")
    return folder


@pytest.fixture(scope="module")
def tracked(checkout):
    """Each tracked data file's path and content, as committed."""
    return {name: (checkout / name).read_bytes() for name in _tracked_in(checkout)}


def _tracked_in(folder: Path) -> list[str]:
    git = ["git", "-C", str(folder), "ls-files", "-z", *FOLDERS]
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in listed.split("\0") if name)


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    _build(checkout, out, "--wheel")
    return next(out.glob("*.whl"))


def test_a_wheel_from_a_checkout_with_junk_ships_exactly_the_tracked_files(wheel, tracked):
    assert _data(wheel) == tracked
    assert "environments/README.md" in tracked


def test_a_wheel_by_way_of_a_source_distribution_ships_the_same(checkout, tracked, tmp_path):
    _build(checkout, tmp_path)  # sdist, then the wheel from it
    assert _data(next(tmp_path.glob("*.whl"))) == tracked


def test_a_wheel_holds_nothing_outside_its_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert tops == {"codegym", next(t for t in tops if t.endswith(".dist-info"))}


def test_an_editable_install_points_at_the_checkout_and_copies_nothing(checkout, tmp_path):
    code = "import sys, hatchling.build as b; print(b.build_editable(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(tmp_path / run.stdout.strip()) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert names == ["_codegym.pth"]
        assert archive.read("_codegym.pth").decode() == str(checkout)


class Installed:
    """A clean virtual environment with the wheel, used from a folder of its own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.bin = folder / "venv/bin"
        self.home = folder / "home"
        self.cwd = folder / "cwd"
        for path in (self.home, self.cwd):
            path.mkdir(parents=True)
        folder.chmod(0o755)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [str(self.bin / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, str(wheel)], check=True, timeout=600)

    def run(self, *command: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        keep = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
        cache = os.environ.get("CODEGYM_CACHE", str(self.home / "cache"))
        env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "CODEGYM_CACHE": cache}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.cwd,
            env=keep | env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == status, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(900)
class TestInstalled:
    def test_import_is_light_silent_and_leaves_nothing(self, installed):
        code = f"import sys, codegym; sys.exit(str(sorted(set({HEAVY!r}) & set(sys.modules))))"
        run = installed.run("python", "-B", "-W", "error", "-c", code, status=1)
        assert (run.stdout, run.stderr.strip()) == ("", "[]")
        assert list(installed.cwd.iterdir()) == []
        assert [path.name for path in installed.home.iterdir()] == []

    def test_it_reads_its_own_data(self, installed):
        code = "from codegym.resources import data_root; print(data_root('environments'))"
        printed = installed.run("python", "-c", code).stdout.strip()
        assert "site-packages/codegym/_data/environments" in printed

    def test_every_command_has_help(self, installed):
        listing = "import sys, json; from importlib.metadata import entry_points; import codegym"
        code = (
            f"{listing}\nimport typer\nfrom codegym.cli.app import app\n"
            "def walk(command, path):\n"
            "    print(json.dumps(path))\n"
            "    for name, sub in getattr(command, 'commands', {}).items():\n"
            "        walk(sub, [*path, name])\n"
            "walk(typer.main.get_command(app), ['codegym'])\n"
        )
        paths = [json.loads(x) for x in installed.run("python", "-c", code).stdout.splitlines()]
        assert len(paths) >= 10
        for path in paths:
            assert "Usage:" in installed.run(*path, "--help").stdout

    def test_doctor_answers_in_json(self, installed):
        run = installed.run("codegym", "doctor", "--json")
        assert isinstance(json.loads(run.stdout), dict)

    def test_the_demo_shows_the_point(self, installed):
        grades = json.loads(installed.run("codegym", "demo", "--json").stdout)
        scores = {name: grades[name]["score"] for name in ("oracle", "noop", "cheat")}
        assert scores == {"oracle": 1.0, "noop": 0.0, "cheat": 0.0}
        assert grades["cheat"]["tampering"]

    def test_the_bundled_tasks_hold(self, installed):
        report = json.loads(installed.run("codegym", "check", "kvlog", "--json").stdout)
        assert report["holds"] is True
        assert len(report["tasks"]) >= 10

    def test_nothing_was_written_where_it_was_run(self, installed):
        assert list(installed.cwd.iterdir()) == []
