"""``codegym serve sandbox``, and ``doctor`` on a machine that is served."""

import json

import pytest
from serving import TOKEN, served
from typer.testing import CliRunner

from codegym.cli.app import app


def codegym(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "--cert"),
        (["--cert", "x.pem"], "belong together"),
        (["--cert", "x.pem", "--key", "x.key"], "No such file"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--sandbox", "bubblewarp"], "bubblewrap"),
        (["--max-sandboxes", "0"], "--max-sandboxes"),
    ],
)
def test_what_cannot_be_served_is_told(options, told):
    ran = codegym("serve", "sandbox", *options)
    assert ran.exit_code == 2
    assert told in ran.stderr


def test_a_token_that_is_too_short_is_told_and_not_shown(tmp_path):
    (tmp_path / "token").write_text("swordfish")
    ran = codegym("serve", "sandbox", "--token-file", str(tmp_path / "token"))
    assert ran.exit_code == 2
    assert "16 characters" in ran.stderr
    assert "swordfish" not in ran.output


def test_doctor_looks_at_the_server_and_not_at_what_only_it_needs(monkeypatch):
    with served() as server:
        monkeypatch.setenv("CODEGYM_TOKEN", TOKEN)
        ran = codegym("doctor", "--json", "--sandbox", f"remote:{server.url}")
        assert ran.exit_code == 0
        assert '"sandbox"' in ran.stdout
        assert "bubblewrap" not in json.loads(ran.stdout)["checks"]
        monkeypatch.setenv("CODEGYM_TOKEN", "another token of some length")
        ran = codegym("doctor", "--sandbox", f"remote:{server.url}")
        assert ran.exit_code == 3
        assert "knows another token" in ran.stdout
    ran = codegym("doctor", "--sandbox", f"remote:{server.url}")
    assert ran.exit_code == 3
    assert "codegym serve sandbox" in ran.stdout
