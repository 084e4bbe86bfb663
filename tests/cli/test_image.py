"""``codegym image``, and runs whose sandboxes start from what it made."""

import json

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
