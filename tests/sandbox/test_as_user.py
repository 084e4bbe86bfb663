"""Root is not needed: the same checks hold for an ordinary user."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from as_user import CHECKOUT, USER, as_user

pytestmark = [
    pytest.mark.root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.getuid() != 0, reason="the other tests run as an ordinary user already"),
]


@pytest.fixture
def home():
    folder = Path(tempfile.mkdtemp(prefix="codegym-user-", dir="/var/tmp"))
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)


def test_an_ordinary_users_sandboxes_conform(home):
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    done = subprocess.run(
        as_user([*argv, str(CHECKOUT / "tests/sandbox/test_conformance.py")]),
        env={
            **os.environ,  # pip's own settings among them: the image's wheels are fetched
            "HOME": str(home),
            "CODEGYM_CACHE": str(home / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(home),
        },
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
