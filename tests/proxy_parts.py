"""The proxy tests' parts, for tests elsewhere: their origin, their sink and their fixtures."""

import importlib.util
import json
from pathlib import Path

import pytest

from codegym.types import call

_PATH = Path(__file__).parent / "proxy" / "conftest.py"
_spec = importlib.util.spec_from_file_location("proxy_parts_of_conftest", _PATH)
assert _spec is not None
assert _spec.loader is not None
_parts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_parts)

#: Marks a test that is to pass on each backend.
EVERYWHERE = pytest.mark.parametrize(
    "setting",
    ["bubblewrap", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])],
    indirect=True,
)
ORIGIN, SINK = _parts.ORIGIN, _parts.SINK
Origin = _parts.Origin
interpreter, certificates, servers = _parts.interpreter, _parts.certificates, _parts.servers
wait_until = _parts.wait_until

GET = """python3 - <<'E'
import urllib.error, urllib.request
try:
    with urllib.request.urlopen("{url}", timeout=20) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(error)
E"""


def bash(command):
    return call("bash", command=command)


def get(url):
    return bash(GET.format(url=url))


async def said(episode, action):
    return (await episode.step(action)).observation.output


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def address(origin, path="/"):
    return f"https://{ORIGIN}:{origin.port}{path}"
