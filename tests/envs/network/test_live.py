"""pip in a sandbox, against the package index that this machine's pip is configured with."""

import asyncio
import ipaddress
import json
import os
import socket
from contextlib import chdir
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from proxy_parts import EVERYWHERE, bash, entries, said

from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.envs.purpose import refuse_what_pip_holds
from codegym.errors import TaskError, UnavailableError
from codegym.loop import RunConfig, run
from codegym.network.install import install
from codegym.network.pip_wheel import pip_layer
from codegym.network.registries import registry_addresses
from codegym.network.ways import Keeping, ways
from codegym.runs import open_run
from codegym.runs.layout import network_file
from codegym.store import LayerStore
from codegym.types import File, call
from codegym.workspace.diff import diff_trees

pytestmark = pytest.mark.network

#: The tiny task's date is the 3rd of January 2024: this was the newest then, and is not any more.
PACKAGE, THEN, LATER = "six", "1.16.0", "1.17.0"
IMPORT = f"python -c 'import {PACKAGE}; print({PACKAGE}.__version__)'"


@pytest.fixture(scope="module")
def private(session_cache):
    """Addresses of the index that the operator has to allow."""
    try:
        install()
        (address, *_) = registry_addresses(["pip"])["pip"]
        parts = urlsplit(address)
        told = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
        pip_layer(LayerStore())
    except (UnavailableError, OSError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"NO PACKAGE INDEX: {error}")
    return sorted(
        f"{where[0]}:{where[1]}"
        for *_, where in told
        if not ipaddress.ip_address(where[0]).is_global
    )


@pytest.fixture(scope="module")
def running():
    """The proxies of this module, stopped at its end."""
    made = set()
    yield made
    for each in made:
        each.close()


@pytest.fixture
def live(home, private, running):
    """The operator lets the proxy reach the index, wherever it is."""
    file = home / ".codegym" / "proxy.toml"
    before = file.read_text() if file.exists() else ""  # another module's
    file.write_text(f"private_addresses = {json.dumps(private)}\n")
    with chdir(home):
        running.add(ways())
    yield home
    file.write_text(before)


@pytest.fixture
async def episode(setting, source, live, tmp_path):
    options = EpisodeOptions(network="pip-as-of-task")
    made = Episode(setting, options, Keeping(tmp_path / "log.jsonl"))
    await made.reset(source.get("tiny-0"))
    yield made
    await made.close()


@EVERYWHERE
async def test_pip_installs_what_there_was_at_the_tasks_date(episode):
    told = await said(episode, bash(f"pip install {PACKAGE} && {IMPORT}"))
    assert told.endswith(f"{THEN}\n"), told
    told = await said(episode, bash(f"python -m pip install {PACKAGE}=={LATER}"))
    assert "No matching distribution" in told
    twin = await episode.fork()
    assert await said(twin, bash(f"{IMPORT}; pip list | grep -c {PACKAGE}")) == f"{THEN}\n1\n"
    await twin.close()


async def test_the_project_under_test_is_nowhere_to_be_had(episode):
    for command in ("install tinycalc", "download tiny==0.1.0"):
        told = await said(episode, bash(f"pip {command}"))
        assert "No matching distribution" in told, told
    (index, *_) = registry_addresses(["pip"])["pip"]
    assert {e["host"] for e in entries(episode._way.log)} == {urlsplit(index).hostname}


async def test_an_index_that_is_out_of_reach_is_a_fault(setting, source, live, running):
    (index, *_) = registry_addresses(["pip"])["pip"]
    file = live / ".codegym" / "proxy.toml"
    file.write_text(f'[hosts]\n"{urlsplit(index).hostname}" = "127.0.0.1"\n')
    made = Episode(setting, EpisodeOptions(network="pip-as-of-task"))
    await made.reset(source.get("tiny-0"))
    try:
        await said(made, bash(f"pip --retries 0 install {PACKAGE}"))
        await said(made, bash("pip --retries 0 install tinycalc"))  # which the proxy denies, itself
        result = await made.step(call("submit"))
    finally:
        await made.close()
        running.add(ways())
    assert (result.info.fault, result.info.grade) == ("sandbox", None)
    assert "is not a public address" in made.error


@pytest.mark.slow
async def test_a_replay_is_answered_what_the_first_was(live, at_home, tmp_path):
    """And nobody is asked: not even where the index cannot be reached any more."""
    script = tmp_path / "script.jsonl"
    script.write_text(f"{bash(f'pip install -q {PACKAGE} && {IMPORT}')}\n{call('submit')}\n")
    options = EpisodeOptions(kind="FixTests", network="pip-as-of-task")
    first = RunConfig(
        "CodeGym/FixTests-v0", tmp_path / "one", f"scripted:{script}", "tiny", options=options
    )
    await run(first)
    (live / ".codegym" / "proxy.toml").write_text("private_addresses = []\n")
    again = replace(first, out=tmp_path / "two", policy=f"replay:{first.out}")
    assert (await run(again)).faults == 0
    for index in range(3):
        one, two = (open_run(config.out).turns(index)[0] for config in (first, again))
        assert one.observation.output == two.observation.output == f"{THEN}\n"
        assert [e for e in entries(network_file(first.out, index)) if e["event"] == "fetch"]
        assert not [e for e in entries(network_file(again.out, index)) if e["event"] == "fetch"]


def test_an_answer_that_pip_itself_holds_is_refused(live, setting, source):
    async def ready():
        return await setting.ready(source.get("tiny-0"))

    plain = asyncio.run(ready())
    refuse_what_pip_holds(plain)
    sources = pip_layer(LayerStore()) / "sources" / "pip" / "_vendor"
    solved = (sources / "idna" / "core.py").read_bytes()
    broken = solved.replace(b"return ", b"return not ")
    start = {**plain.prepared.start_tree, "src/tinycalc/core.py": File(broken)}
    patch = diff_trees(start, {**start, "src/tinycalc/core.py": File(solved)})
    task = replace(plain.task, patch=patch)
    copied = replace(plain, task=task, prepared=replace(plain.prepared, start_tree=start))
    with pytest.raises(TaskError, match="pip holds the answer"):
        refuse_what_pip_holds(copied)
    named = {**plain.prepared.start_tree, "src/idna/__init__.py": File(b"")}
    named = replace(plain, prepared=replace(plain.prepared, start_tree=named))
    with pytest.raises(TaskError, match="a copy of idna"):
        refuse_what_pip_holds(named)
