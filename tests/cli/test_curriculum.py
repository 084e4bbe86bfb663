"""``codegym curriculum`` as it is typed."""

import json

import pytest
from support import make_tiny_home
from typer.testing import CliRunner

from codegym.cli.app import app
from codegym.curriculum import Outcome, open_curriculum
from codegym.curriculum.outcomes import as_group


@pytest.fixture
def place(tmp_path, monkeypatch):
    make_tiny_home(tmp_path, tasks=6)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(
        'name = "own"\nsummary = "For a test"\n[pool]\ntasks = ["tiny"]\n'
    )
    return tmp_path


def invoke(*words, status=0):
    result = CliRunner().invoke(app, ["curriculum", *words])
    assert result.exit_code == status, result.output
    return result


def told(*words):
    return json.loads(invoke(*words, "--json").stdout)


def test_sample_draws_as_an_env_would_and_writes_nothing(place):
    drawn = told("sample", "own.toml", "-n", "5", "--seed", "3")
    assert len(drawn["tasks"]) == 5
    assert {each["task_id"] for each in drawn["tasks"]} <= {f"tiny-{n}" for n in range(6)}
    assert told("sample", "own.toml", "-n", "5", "--seed", "3") == drawn
    assert "tiny-" in invoke("sample", "own.toml").stdout
    assert not (place / ".codegym" / "curricula").exists()


def test_stats_tell_what_was_learned_and_draw_it(place):
    curriculum = open_curriculum("own.toml")
    for n, solved in enumerate((0, 2, 4)):
        task = curriculum.get(f"tiny-{n}")
        curriculum.observe(as_group(Outcome(task.instance_id, solved, 4, "p1"), task))
    found = told("stats", "own.toml", "--plot", "out.html")["stats"]
    assert (found["tasks"], found["tried"], found["episodes"]) == (6, 3, 12)
    assert found["informative"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["policies"] == {"p1": 12}
    assert found["categories"]["tiny"]["solved"] == 6
    assert found["calibration"]["episodes"] == 12
    page = (place / "out.html").read_text()
    assert page.count("<svg") == 4
    assert "http://www.w3.org" in page
    assert "3 of 6 tasks tried, 12 episodes" in invoke("stats", "own.toml").stdout


def test_stats_of_nothing(place):
    found = told("stats", "own.toml", "--plot", "out.html")["stats"]
    assert (found["tried"], found["informative"], found["calibration"]["auc"]) == (0, None, None)
    printed = invoke("stats", "own.toml").stdout
    assert "0 of 6 tasks tried" in printed
    assert printed.endswith("nothing recorded yet\n")


def test_simulate_compares_and_says_by_how_much(place):
    found = told(
        "simulate", "adaptive", "mopps", "own.toml", "--seeds", "2", "--seed", "900",
        "--pools", "easy", "--plot", "out.svg",
    )  # fmt: skip
    easy = found["pools"]["easy"]
    assert set(easy) == {"uniform", "frontier_hybrid", "mopps", "own", "sec", "oracle"}
    assert easy["own"] == easy["frontier_hybrid"] | {"sampler": "own"}
    low, high = easy["mopps"]["ci95"]
    assert low <= easy["mopps"]["ratio"] <= high
    assert 0 < easy["mopps"]["effective"] < 1
    assert (place / "out.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["simulate", "adaptive", "--learner", "irt-succes"], "did you mean 'irt-success'"),
        (["simulate", "adaptive", "--pools", "medium"], "there are: easy, balanced, hard"),
        (["simulate", "adaptiv"], "did you mean 'adaptive'"),
        (["sample", "none.toml"], "no curriculum named 'none.toml'"),
        (["stats", "none.toml"], "no curriculum named 'none.toml'"),
        (["stats", "own.toml", "--plot", "none/x.html"], "none is no folder; make it first"),
        (["stats", "own.toml", "--plot", "x.svg"], "only .html is written"),
        (["simulate", "adaptive", "--plot", "none/x.svg"], "none is no folder; make it first"),
        (["simulate", "adaptive", "--plot", "x.pdf"], "only .svg is written; name it NAME.svg"),
    ],
)
def test_what_cannot_be_is_told(place, words, problem):
    assert problem in invoke(*words, status=2).stderr


def test_a_plot_that_cannot_be_written_is_told_before_the_work(place):
    (place / "x.svg").mkdir()
    told = invoke("simulate", "adaptive", "--plot", "x.svg", status=3)
    assert "--plot x.svg: Is a directory" in told.stderr
    assert not told.stdout


def test_simulate_says_which_samplers_are_baselines(place):
    words = ("--seeds", "2", "--seed", "900", "--pools", "easy")
    table = invoke("simulate", "uniform", *words).stdout
    assert "sec, baseline " in table
    assert "oracle, baseline " in table
    assert "uniform, baseline" not in table  # it was asked for


def test_rate_plays_episodes_and_keeps_what_others_did(tmp_path, monkeypatch):
    place = make_tiny_home(tmp_path, tasks=2)
    monkeypatch.chdir(place)
    found = told("rate", "--tasks", "tiny", "--policy", "noop", "--episodes", "1")
    beside = place / ".codegym" / "environments" / "tiny" / "ratings.jsonl"
    assert found["files"] == [str(beside)]
    assert all(each["tries"] == {"noop@1": [0, 1]} for each in found["ratings"])
    before = (beside.parent / "tasks.jsonl").read_bytes()
    again = told("rate", "--tasks", "tiny", "--policy", "oracle", "--episodes", "2")
    assert all(len(each["tries"]) == 2 for each in again["ratings"])
    assert {tuple(e["tries"]["oracle@1"]) for e in again["ratings"]} == {(2, 2)}
    assert (beside.parent / "tasks.jsonl").read_bytes() == before
    assert (
        "difficulty"
        in invoke("rate", "--tasks", "tiny", "--policy", "noop", "--episodes", "1").stdout
    )  # done already: nothing is played again


def test_ratings_that_cannot_be_read_are_told_before_anything_is_played(place):
    ratings = place / ".codegym" / "environments" / "tiny" / "ratings.jsonl"
    ratings.write_text('{"task_id": 3}\n')
    said = invoke("rate", "--tasks", "tiny", "--policy", "noop", status=2).stderr
    assert "ratings.jsonl:1: " in said
    assert not (place / ".codegym" / "ratings").exists()


def test_evolve_needs_something_to_go_by(place):
    told = invoke("evolve", "own.toml", status=2).stderr
    assert "none of its tasks has been tried" in told
    assert (
        "no run named 'runs/none'"
        in invoke("evolve", "own.toml", "--from", "runs/none", status=2).stderr
    )


def test_two_samplers_that_cannot_be_told_apart_are_told(place):
    for name in ("own", "oracle"):
        text = (place / "own.toml").read_text().replace('"own"', f'"{name}"')
        (place / "other.toml").write_text(text)
        said = invoke("simulate", "adaptive", "own.toml", "other.toml", status=2).stderr
        assert f"other.toml: name: another sampler is told of as '{name}'; rename it" in said


def test_evolve_says_why_there_is_no_parent(place):
    curriculum = open_curriculum("own.toml")
    task = curriculum.get("tiny-0")
    curriculum.observe(as_group(Outcome("tiny-0", 4, 4, "p1"), task))
    said = invoke("evolve", "own.toml", "--out", "/proc/packs", status=2).stderr
    assert "/proc/packs/tiny-evolved cannot be written to" in said
    spec = (place / "own.toml").read_text()
    (place / "own.toml").write_text(spec + "[evolution]\neasy = 0.0\n")
    said = invoke("evolve", "own.toml", status=2).stderr
    assert "own.toml: evolution: none of the 1 tasks that were tried may become a parent" in said


def test_evolve_makes_tasks_where_the_learner_is(place):
    curriculum = open_curriculum("own.toml")
    task = curriculum.get("tiny-0")
    curriculum.observe(as_group(Outcome("tiny-0", 2, 4, "p1"), task))
    found = told("evolve", "own.toml", "-n", "2")
    assert found["tasks"] <= 2
    (made,) = found["evolved"]
    assert (made["environment"], made["pack"], made["parents"]) == ("tiny", "tiny-evolved", 1)
    assert found["tasks"] == len(made["tasks"]) > 0
    spec = (place / "own.toml").read_text()
    (place / "own.toml").write_text(spec.replace('["tiny"]', '["tiny", "tiny-evolved"]'))
    grown = open_curriculum("own.toml")
    assert len(grown) == 6 + found["tasks"]
    child = grown.get(made["tasks"][0])
    assert child.provenance["parent"] == "tiny-0"
    assert "order.py" in child.patch
    grown.refresh()
    assert len(grown.history) == 1  # what was learned stays
    again = told("evolve", "own.toml", "-n", "2")  # none is made twice
    assert not {*again["evolved"][0]["tasks"]} & {*made["tasks"]}
