"""Evaluations of real episodes: made, added to, stopped, and reported on."""

import json
import shutil

import pytest
from support import make_tiny_home
from typer.testing import CliRunner

from codegym.cli.app import app
from codegym.envs.options import EpisodeOptions
from codegym.errors import DataError, NotFoundError, UsageError
from codegym.evaluation import EvaluationConfig, evaluate, open_evaluation, report_on

TASKS = 2


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_tiny_home(tmp_path_factory.mktemp("home"), tasks=TASKS)


@pytest.fixture(autouse=True)
def at_home(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.fixture(scope="module")
def played(home, tmp_path_factory):
    """A folder with two policies of two samples each."""
    out = tmp_path_factory.mktemp("evaluation") / "a"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        arguments = ["evaluate", "-p", "oracle", "-p", "noop", "--no-baselines", "--tasks", "tiny"]
        ended = CliRunner().invoke(app, [*arguments, "--samples", "2", "--out", str(out), "--json"])
    assert ended.exit_code == 0, ended.output
    return out, json.loads(ended.stdout)


def config(out, *policies, **more):
    return EvaluationConfig(
        "CodeGym/FixTests-v0",
        out,
        policies,
        "tiny",
        workers=2,
        options=EpisodeOptions(kind="FixTests"),
        **more,
    )


def test_policies_are_reported_on_side_by_side(played):
    _, report = played
    oracle, noop = report["oracle"], report["noop"]
    assert (oracle["solve_rate"], noop["solve_rate"]) == (1.0, 0.0)
    assert (oracle["tasks"], oracle["episodes"]) == (TASKS, 2 * TASKS)
    assert oracle["pass_at"] == {"1": 1.0, "2": 1.0}
    assert oracle["baselines"] == {}
    paired = oracle["paired"]["noop"]
    assert (paired["pairs"], paired["only_first"], paired["difference"]) == (
        2 * TASKS,
        2 * TASKS,
        1,
    )
    assert paired["p"] == paired["p_holm"] == 0.5  # two tasks prove no more
    assert noop["paired"]["oracle"]["difference"] == -1
    assert sum(level["graded"] for level in oracle["assurance"].values()) == 2 * TASKS


def test_a_report_reads_what_an_evaluation_printed(played):
    out, report = played
    ended = CliRunner().invoke(app, ["report", str(out), "--json"])
    assert json.loads(ended.stdout) == report
    shown = CliRunner().invoke(app, ["report", str(out)])
    assert "oracle against noop: +100.0 points" in shown.stdout
    assert "pass@2 100.0%" in shown.stdout


def test_what_was_not_played_to_its_end_is_told(played, tmp_path):
    out, report = played
    assert {each["planned"] for each in report.values()} == {2 * TASKS}
    shutil.copytree(out, tmp_path / "a")
    (episodes,) = (tmp_path / "a").glob("oracle-*/episodes.jsonl")
    episodes.write_text("".join(episodes.read_text().splitlines(keepends=True)[:-1]))
    shutil.rmtree(*(tmp_path / "a").glob("noop-*"))
    shown = CliRunner().invoke(app, ["report", str(tmp_path / "a")])
    assert f"oracle: {2 * TASKS - 1} of {2 * TASKS} episodes were played so far" in shown.stdout
    assert "noop: nothing was played yet" in shown.stderr
    assert "played" not in CliRunner().invoke(app, ["report", str(out)]).output


@pytest.mark.parametrize("columns", [50, 60, 80, 100, 200])
def test_a_narrow_terminal_shows_names_and_rates_whole(played, columns):
    out, report = played
    shown = CliRunner().invoke(app, ["report", str(out)], env={"COLUMNS": str(columns)})
    lines = shown.stdout.splitlines()
    assert max(map(len, lines[:6])) <= columns
    for name, each in report.items():
        (row,) = [line for line in lines if line.startswith(f"  {name} ")]
        low, high = each["ci95"]
        assert f" {each['solve_rate']:.1%} " in row
        assert f" {low:.1%} to {high:.1%} " in row
        assert ("●" in row) == (columns >= 80)


def test_a_single_run_is_reported_on_too(played):
    out, _ = played
    (run,) = out.glob("oracle-*")
    assert report_on(open_evaluation(run)).policies["oracle"].solve_rate == 1.0


async def test_a_policy_is_added_and_what_is_done_is_kept(played, tmp_path):
    out = tmp_path / "a"
    shutil.copytree(played[0], out)
    before = {path: path.read_bytes() for path in out.glob("*/episodes.jsonl")}
    script = tmp_path / "script.json"
    script.write_text('"not a call"\n')
    options = EpisodeOptions(kind="Tasks", max_steps=2)
    name = f"scripted:{script}"
    added = EvaluationConfig("CodeGym/Tasks-v0", out, [name], "tiny", samples=2, options=options)
    runs = await evaluate(added)
    assert [run.name for run in runs][:2] == ["oracle", "noop"]
    assert all(path.read_bytes() == data for path, data in before.items())
    report = report_on(runs).policies
    assert report[name].solve_rate == 0.0
    assert "options.max_steps" in report[name].unpaired["oracle"]


async def test_an_evaluation_of_which_nothing_was_played_is_told(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        await evaluate(config(tmp_path / "a", f"scripted:{tmp_path / 'nowhere.json'}"))
    with pytest.raises(NotFoundError, match="no policy was played yet"):
        open_evaluation(tmp_path / "a")


async def test_what_cannot_be_evaluated_is_refused(tmp_path):
    with pytest.raises(UsageError, match="at least one policy"):
        await evaluate(config(tmp_path / "a"))
    with pytest.raises(UsageError, match="twice"):
        await evaluate(config(tmp_path / "a", "noop", "noop"))
    with pytest.raises(NotFoundError, match="option of these policies"):
        await evaluate(config(tmp_path / "a", "noop", policy_options={"modell": "x"}))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        await evaluate(config(tmp_path / "b", "noop"))
    with pytest.raises(NotFoundError):
        open_evaluation(tmp_path / "nowhere")
    (tmp_path / "b" / "evaluation.json").write_text("[]")
    with pytest.raises(DataError, match="codegym evaluate"):
        open_evaluation(tmp_path / "b")


def test_what_guessing_reaches_stands_beside_each_rate(tmp_path):
    arguments = ["evaluate", "-p", "oracle", "--tasks", "tiny-0", "--unigram-from", "tiny"]
    ended = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "a"), "--json"])
    assert ended.exit_code == 0, ended.output
    report = json.loads(ended.stdout)
    assert list(report) == ["oracle", "random_edit", "unigram:tiny"]
    assert set(report["oracle"]["baselines"]) == {"random_edit", "unigram"}
    assert report["oracle"]["baselines"]["random_edit"] == report["random_edit"]["solve_rate"]
