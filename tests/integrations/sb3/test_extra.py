"""Without the extra: one line that says what to install."""

import sys

import pytest

from codegym.agents import load_policy
from codegym.errors import NotFoundError, UnavailableError
from codegym.integrations.sb3 import require
from codegym.registration import resolve


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3", "sb3_contrib"])
def test_what_is_missing_is_named(monkeypatch, missing):
    for name in ("torch", "stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnavailableError, match=rf"{missing}.*pip install 'codegym\[sb3\]'"):
        require()


def test_a_folder_without_a_training_is_told_before_anything_is_loaded(tmp_path):
    with pytest.raises(NotFoundError, match="codegym train sb3"):
        load_policy(f"pointer:{tmp_path}", resolve("tiny"))


def test_the_env_needs_no_extra():
    """What makes boards and plays them imports neither torch nor Stable-Baselines3."""
    import subprocess

    code = (
        "import sys\n"
        "from codegym.integrations.sb3 import env, playing, acting, folder\n"
        "heavy = {'torch', 'stable_baselines3', 'sb3_contrib'} & sys.modules.keys()\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
