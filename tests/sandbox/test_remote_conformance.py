"""A server's sandboxes pass every check, over plain loopback and over TLS."""

import pytest
from serving import TOKEN, certificates, served

from codegym.sandbox.backends import pick
from codegym.sandbox.conformance import CHECKS, workspace
from codegym.sandbox.images import build_image
from codegym.store import LayerStore
from codegym.types import SandboxSpec

#: Seconds each, and of limits that are the server's own backend's.
SLOW = {"a_fork_bomb_is_contained", "many_small_hogs_are_ended"}
#: What carries much, or all kinds of bytes.
OVER_TLS = {
    "any_command_text_is_safe",
    "collect_follows_nothing",
    "exec_takes_input_and_reports",
    "files_round_trip",
    "names_of_any_bytes_are_carried",
}


def cases():
    for name in CHECKS:
        yield pytest.param("http", name, marks=[pytest.mark.slow] if name in SLOW else [])
        yield pytest.param("https", name, marks=[] if name in OVER_TLS else [pytest.mark.slow])


@pytest.fixture(scope="session")
def urls(tmp_path_factory):
    ca, certificate, key = certificates(tmp_path_factory.mktemp("tls"))
    with served() as plain, served(f"--cert={certificate}", f"--key={key}") as secure:
        yield {"http": plain.url, "https": secure.url, "ca": str(ca)}


@pytest.fixture
async def far(request, urls, monkeypatch):
    monkeypatch.setenv("CODEGYM_TOKEN", TOKEN)
    monkeypatch.setenv("CODEGYM_REMOTE_CA", urls["ca"])
    made = pick(f"remote:{urls[request.param]}")
    yield made
    await made.close()


@pytest.mark.parametrize(("far", "name"), list(cases()), indirect=["far"])
async def test_remote_conforms(far, name, tiny):
    image = await build_image(tiny, far)
    layer = LayerStore().publish("tree-0c0f0e11", lambda folder: workspace(folder, far.owner))
    assert far.capabilities().backend == "remote"
    await CHECKS[name](far, SandboxSpec(image, layer))
