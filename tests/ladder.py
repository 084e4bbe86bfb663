"""A small project named ``ladder`` as an environment, and the way from ``generate`` to a grade."""

import json
import os
import shutil

import pytest
from support import git, make_repository


def make_environment(folder, language, toolchain, files, suite, sources, extra="", image=""):
    """Write an environment named ``ladder``, whose history is one commit."""
    repository = make_repository(folder / "repository", files, "Ladders")
    made = folder / ".codegym" / "environments" / "ladder"
    made.mkdir(parents=True)
    (made / "history.fast-export").write_text(git(repository, "fast-export", "main"))
    head = git(repository, "rev-parse", "HEAD").strip()
    (made / "environment.toml").write_text(
        f'name = "ladder"\nsummary = "Ladders"\nlanguage = "{language}"\nlicense = "MIT"\n'
        f'history = "history.fast-export"\nhead = "{head}"\n{extra}'
        f'[image]\ntoolchains = ["{toolchain}"]\n{image}'
        f'[[suites]]\nname = "unit"\n{suite}timeout_sec = 120.0\n'
        f'[edits]\npermitted = {json.dumps(sources)}\nprotected = ["tests/**", "*_test.go"]\n'
        "[limits]\nmemory_mb = 2048\ndisk_mb = 1024\nprocesses = 256\n"
    )
    return folder


def needs(program):
    if shutil.which(program) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{program} is not on this machine")
        pytest.skip(f"{program} is not on this machine")


def checked(codegym, home):
    """Prove the tasks that were made."""
    ran = codegym("check", "ladder", "--repeats", 1, "--json", cwd=home, timeout=400)
    assert ran.status == 0, ran.err


def from_generate_to_run(codegym, home):
    """Make three tasks; the answer solves each, and nothing solves none."""
    made = codegym("generate", "ladder", "--count", 3, "--json", cwd=home, timeout=400)
    assert made.status == 0, made.err
    said = json.loads(made.out)
    assert said["valid"] == 3
    assert said["null_valid"] == 0
    rates = {}
    for policy in ("oracle", "noop"):
        options = ("--tasks", "ladder", "--policy", policy, "--out", home / policy, "--json")
        ran = codegym("run", "CodeGym/FixTests-v0", *options, cwd=home, timeout=400)
        assert ran.status == 0, ran.err
        rates[policy] = json.loads(ran.out)["solve_rate"]
    assert rates == {"oracle": 1.0, "noop": 0.0}
