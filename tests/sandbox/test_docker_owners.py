"""What needs no engine: whose a container is, and the one line where the SDK is missing."""

import os
import subprocess
import sys
from dataclasses import replace

from codegym.sandbox.docker.owners import Owner


def test_no_sdk_is_one_line_that_names_the_extra():
    code = (
        "import sys; sys.modules['docker'] = None\n"
        "from codegym.sandbox.docker.engine import Engine\n"
        "try: Engine()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("UnavailableError")
    assert "pip install 'codegym[docker]'" in said.stdout
    assert len(said.stdout.splitlines()) == 1


def test_an_owner_is_known_by_more_than_its_number():
    me = Owner.me()
    assert Owner.parse(str(me)) == me
    assert me.pid == os.getpid()
    assert not me.is_gone()
    assert replace(me, started="1").is_gone(), "its number was given to another"
    assert replace(me, boot="another").is_gone()
    assert not replace(me, machine="another").is_gone(), "nobody here can tell"
    assert not replace(me, space="another", started="1").is_gone(), "nor of another container"
    assert Owner.parse("a/b/c/d/e") is None
    assert Owner.parse("") is None
