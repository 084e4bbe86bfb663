"""``codegym image``, and runs whose sandboxes start from what it made."""

import importlib.util
import json
import socket

import pytest

from codegym.runs import open_run

ID = "CodeGym/FixTests-v0"


@pytest.fixture(scope="module")
def images(codegym, docker_images):
    """What building and exporting the image of ``tiny`` told."""
    built = codegym("image", "build", "tiny", "--json")
    exported = codegym("image", "export", "tiny", "--json")
    assert (built.status, exported.status) == (0, 0), built.err + exported.err
    return json.loads(built.out), json.loads(exported.out)


@pytest.mark.docker
@pytest.mark.timeout(300)
def test_build_export_and_list(images, codegym):
    built, exported = images
    assert built["environment"] == "tiny"
    assert exported["bytes"] > 1e8
    assert exported["layer"].rpartition("/")[2].startswith("docker-")
    again = codegym("image", "build", "tiny")
    assert again.out == f"{built['tag']}  {built['megabytes']:.0f} MB, there already\n"
    assert exported["layer"] in codegym("image", "export", "tiny").out
    assert f"{built['tag']}  " in codegym("image", "list").out
    listed = json.loads(codegym("image", "list", "--json").out)["images"]
    assert built["id"] in {one["id"] for one in listed}


@pytest.mark.docker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("backend", ["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)])
def test_a_run_on_it_is_graded_and_pins_it(backend, images, codegym, tmp_path):
    options = ("--tasks", "tiny", "--sandbox", f"{backend}+dockerfile")
    for policy, score in (("oracle", 1.0), ("noop", 0.0)):
        out = tmp_path / policy
        ran = codegym("run", ID, *options, "--policy", policy, "--out", out)
        assert ran.status == 0, ran.err
        assert [one.grade.score for one in open_run(out).episodes()] == [score] * 2
        pinned = json.loads((out / "run.json").read_text())["images"]
        assert pinned == {"tiny": images[1]["digest"]}
    other = codegym("run", ID, *options[:2], "--policy", "noop", "--out", out)
    assert other.status == 2
    assert "images" in other.err


@pytest.mark.docker
def test_a_base_that_is_no_name_is_told(codegym, docker_images):
    ran = codegym("image", "build", "tiny", "--base", "BAD IMG")
    assert (ran.status, ran.out) == (2, "")
    assert "--base 'BAD IMG' is no image's name" in ran.err


def test_an_engine_behind_ssh_needs_a_part_of_the_sdk(codegym):
    if importlib.util.find_spec("paramiko"):
        pytest.skip("it is there")
    ran = codegym("image", "list", DOCKER_HOST="ssh://nosuch")
    assert (ran.status, ran.out) == (3, "")
    assert "pip install 'docker[ssh]'" in ran.err


@pytest.mark.parametrize("scheme", ["unix", "http+unix"])
def test_an_engine_that_is_down_leaves_no_socket_open(codegym, tmp_path, scheme):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{tmp_path}/s")
    host = f"{scheme}://{tmp_path}/s"
    ran = codegym("image", "list", DOCKER_HOST=host, PYTHONDEVMODE="1")
    assert ran.status == 3
    assert "Connection refused" in ran.err
    assert "ResourceWarning" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("build", "tony"), 2, "no environment named 'tony'; did you mean 'tiny'?"),
        (("export", "tiny"), 3, "no Docker engine answers at unix:///nowhere/docker.sock"),
        (("list",), 3, "be in the group `docker`, or set"),
    ],
)
def test_what_cannot_be_is_told(codegym, arguments, status, told):
    ran = codegym("image", *arguments, DOCKER_HOST="unix:///nowhere/docker.sock")
    assert (ran.status, ran.out) == (status, "")
    assert told in ran.err
