"""``codegym generate`` as a user runs it."""

import json

import pytest
from chat_server import serving, text
from support import make_tiny_home


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A home of its own: the pack changes."""
    return make_tiny_home(tmp_path_factory.mktemp("generate"))


def test_from_generate_to_run(codegym, mine):
    ran = codegym("generate", "tiny", "--count", 3, "--json", cwd=mine)
    assert ran.status == 0, ran.err
    said = json.loads(ran.out)
    assert said["valid"] == len(said["tasks"]) == 3
    assert said["candidates"] == 3 + sum(said["funnel"].values())
    assert said["pack"]["name"] == "tiny"
    assert said["pack"]["version"] == 2

    listed = json.loads(codegym("tasks", "list", "--tasks", "tiny", "--json", cwd=mine).out)
    assert listed["tasks"] == ["tiny-0", *said["tasks"]]

    out = mine / "runs" / "tiny"
    options = ("--tasks", "tiny", "--policy", "oracle", "--out", out, "--json")
    done = codegym("run", "CodeGym/FixTests-v0", *options, cwd=mine)
    assert done.status == 0, done.err
    assert json.loads(done.out)["solve_rate"] == 1.0

    again = codegym("generate", "tiny", "--count", 3, cwd=mine)
    assert again.status == 0, again.err
    assert "3 tasks of" in again.out
    assert "version 2 of the pack tiny" in again.out
    assert "0 of them new" in again.out
    assert "fewer than" not in again.out


def test_a_folder_of_its_own(codegym, mine):
    out = mine / ".codegym" / "packs" / "features"
    options = ("--count", 1, "--kind", "feature", "--out", out)
    ran = codegym("generate", "tiny", *options, cwd=mine)
    assert ran.status == 0, ran.err
    assert "version 1 of the pack features, 1 task, 1 of them new, in" in ran.out
    assert ran.out.rstrip().splitlines()[-1] == f"codegym tasks list --tasks {out}"
    (row,) = (json.loads(line) for line in (out / "tasks.jsonl").read_text().splitlines())
    assert row["kind"] == "ImplementFeature"
    assert row["provenance"]["operators"] == {"python.remove_body": "2"}
    assert json.loads((out / "pack.json").read_text())["operators"] == {"python.remove_body": "2"}


def rows_of(folder):
    return [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]


def test_a_failed_patch_becomes_the_start_of_the_next_task(codegym, mine, tmp_path):
    """From a commit that is taken back, over a policy that makes it worse, with a model's words."""
    first = mine / ".codegym" / "packs" / "reverts"
    options = ("--count", 1, "--operators", "revert", "--order", "2-3", "--detail", "low")
    ran = codegym("generate", "tiny", *options, "--out", first, cwd=mine)
    assert ran.status == 0, ran.err
    (row,) = rows_of(first)
    assert row["provenance"]["operators"] == {"composite.revert": "2"}
    assert row["features"] | {"order": 2, "tier": 4, "detail": 1} == row["features"]
    assert row["FAIL_TO_PASS"] == ["tests/test_order.py::test_median_of_even"]

    edit = {
        "path": "src/tinycalc/order.py",
        "old": "sorted(numbers)[-1]",
        "new": "sorted(numbers)[0]",
    }
    script = tmp_path / "worse.jsonl"
    script.write_text(json.dumps({"name": "edit", "arguments": edit}) + "\n")
    run = tmp_path / "run"
    options = ("--tasks", "reverts", "--policy", f"scripted:{script}", "--out", run, "--json")
    done = codegym("run", "CodeGym/FixTests-v0", *options, cwd=mine)
    assert json.loads(done.out)["solve_rate"] == 0.0, done.err

    options = ("--count", 1, "--operators", "failed", "--order", "3", "--failed", run)
    with serving() as server:
        server.script = [text("What is largest, and what lies in between, is wrong.")]
        chat = ("--statements", "chat:tiny", "--base-url", server.url, "--json")
        ran = codegym("generate", "tiny", *options, *chat, "--out", tmp_path / "second", cwd=mine)
    assert ran.status == 0, ran.err
    assert json.loads(ran.out)["statements"]["written"] == 1
    (second,) = rows_of(tmp_path / "second")
    assert second["provenance"]["parent"] == row["instance_id"]
    assert second["problem_statement"].startswith("What is largest")
    assert second["provenance"]["statement_by"] == "chat:tiny"
    assert set(second["FAIL_TO_PASS"]) > set(row["FAIL_TO_PASS"])
    assert {one["function"] for one in second["provenance"]["spans"]} == {"largest", "median"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tinny",), "did you mean 'tiny'"),
        (("tiny", "--operators", "python.comparisn"), "did you mean 'python.comparison'"),
        (("tiny", "--operators", "comparisn"), "did you mean 'comparison'?; there are: arith"),
        (("tiny", "--out", "/proc/packs"), "/proc/packs cannot be written to"),
        (("tiny", "--operators", "remove_body"), "ask for them with --kind"),
        (("tiny", "--operators", "dropped_filter"), "find no place in 3 files of tiny"),
        (("tiny", "--count", "0"), "greater than or equal to 1"),
        (("tiny", "--kind", "bugs"), "'bugs' is not one of"),
        (("tiny", "--order", "0"), "'0' is not N or N-M"),
        (("tiny", "--order", "3-2"), "'3-2' is not N or N-M"),
        (("tiny", "--order", "2-5"), "from 1 to 4"),
        (("tiny", "--order", "two"), "'two' is not N or N-M"),
        (("tiny", "--operators", "pair"), "pair joins several edits: give --order"),
        (("tiny", "--operators", "pair", "--order", "2", "--kind", "feature"), "with --kind"),
        (("tiny", "--detail", "all"), "'all' is not one of"),
        (("tiny", "--statements", "oracle"), "neither template nor chat:MODEL"),
        (("tiny", "--statements", "chat:x"), "where is the model? Give --base-url"),
        (("tiny", "--base-url", "http://127.0.0.1:1/v1"), "is for --statements chat:MODEL"),
        (("tiny", "--failed", "nowhere"), "give --order, for example 2-3"),
        (("tiny", "--failed", "nowhere", "--order", "2"), "there is no run.json in it"),
    ],
)
def test_bad_input(codegym, mine, arguments, said):
    ran = codegym("generate", *arguments, cwd=mine)
    assert ran.status == 2
    assert said in " ".join(ran.err.replace("│", " ").split())
    assert ran.out == ""


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("rust", "pytest runs the tests of python: edits of rust cannot be tried"),
        ("cobol", "there are: python, javascript, typescript, go, rust, java, c"),
    ],
)
def test_a_language_whose_tests_cannot_be_run(codegym, tmp_path, language, said):
    home = make_tiny_home(tmp_path)
    toml = home / ".codegym" / "environments" / "tiny" / "environment.toml"
    toml.write_text(toml.read_text().replace('language = "python"', f'language = "{language}"'))
    ran = codegym("generate", "tiny", "--out", tmp_path / "pack", cwd=home)
    assert ran.status == 2
    assert said in " ".join(ran.err.replace("│", " ").split())
    assert "Traceback" not in ran.err
