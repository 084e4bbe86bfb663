"""Episodes with a way out: to an origin of the tests', through the proxy as users have it."""

import json
from contextlib import chdir

import pytest
from docker_boxes import require_engine
from proxy_parts import ORIGIN, SINK, certificates, interpreter, servers, wait_until

from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.grading.setting import Setting
from codegym.network.ways import Keeping, ways

__all__ = ["certificates", "interpreter", "servers", "wait_until"]


@pytest.fixture
async def setting(request, home):
    """A setting over bubblewrap, or the backend that a test asks for."""
    name = getattr(request, "param", "bubblewrap")
    if name == "docker":
        require_engine()
    made = Setting.on(name)
    yield made
    await made.close()


@pytest.fixture(scope="session")
def operated(home, certificates, servers):
    """The operator lets the proxy reach the origin and the sink: only the policy is in the way."""
    ports = json.dumps([f"127.0.0.1:{server.port}" for server in servers] + ["127.0.0.1:9"])
    names = "\n".join(
        f'"{name}" = "127.0.0.1"'
        for name in (ORIGIN, SINK, "down.test.example", "odd.test.example")
    )
    file = home / ".codegym" / "proxy.toml"
    file.write_text(
        f'upstream_ca = "{certificates["trusted"]}"\n'
        f"private_addresses = {ports}\n[hosts]\n{names}\n"
    )
    yield home
    with chdir(home):
        ways().close()
    file.unlink()


@pytest.fixture
def policy(operated, servers):
    """Writes a policy that allows a host; returns its path."""

    def write(name="origin", host=ORIGIN, port=None, more=""):
        ports = [port] if port else [server.port for server in servers]
        path = operated / ".codegym" / "policies" / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'[[allow]]\nname = "{name}"\nhosts = ["{host}"]\nports = {ports}\n{more}')
        return str(path)

    return write


@pytest.fixture
def origin(servers):
    servers[0].accepted, servers[0].asked[:] = 0, []
    return servers[0]


@pytest.fixture
def sink(servers):
    servers[1].accepted, servers[1].asked[:] = 0, []
    return servers[1]


@pytest.fixture
async def play(setting, source, operated):
    """Makes episodes that have begun."""
    made = []

    async def begin(network, log=None, **options):
        episode = Episode(setting, EpisodeOptions(network=network, **options), Keeping(log))
        made.append(episode)
        await episode.reset(source.get("tiny-0"))
        return episode

    yield begin
    for episode in made:
        await episode.close()


@pytest.fixture
def the_proxy(operated):
    """This process's proxy, running."""
    with chdir(operated):
        return ways().start()
