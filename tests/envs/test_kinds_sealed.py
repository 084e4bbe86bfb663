"""What FixIssue and ImplementFeature hide is nowhere in a real sandbox, nor in anything said."""

import asyncio
import base64
import json
from dataclasses import replace

import gymnasium as gym
import pytest
from support import make_tiny_environment, tiny_task

from codegym.envs.episode import Episode
from codegym.envs.options import EpisodeOptions
from codegym.errors import UsageError
from codegym.tasks import write_pack
from codegym.types import Action, File, call
from codegym.workspace.patch import diff_trees
from codegym.workspace.trees import base_tree, gold_tree

HIDDEN = "tests/test_order.py::test_median_of_even"
NEEDLES = ("test_median_of_even", "[4, 1, 2, 3]) == 2.5")
STATEMENT = (
    f"median([1, 2]) gives 2 where 1.5 is right. See test_median_of_even, or run `pytest {HIDDEN}`."
)

#: Reads every file, git object, and process's variables and arguments, for bytes given in base64.
LOOK = r"""
import base64, json, os, pathlib, subprocess, sys
needles = [base64.b64decode(each) for each in sys.argv[1:]]
found, seen = [], 0
def look(name, data):
    global seen
    seen += 1
    found.extend([name, base64.b64encode(n).decode()] for n in needles if n in data)
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [each for each in folders if each not in ("proc", "sys", "dev")]
    for each in [*folders, *files]:
        look(folder, each.encode("utf-8", "surrogateescape"))
    for each in files:
        path = pathlib.Path(folder, each)
        if path.is_file():
            try:
                data = path.read_bytes()
            except OSError:
                continue
            look(str(path), data)
objects = ["git", "-C", "/workspace", "cat-file", "--batch", "--batch-all-objects", "--buffer"]
look("git objects", subprocess.run(objects, capture_output=True, check=True).stdout)
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for part in ("environ", "cmdline"):
        try:
            look(str(process / part), (process / part).read_bytes())
        except OSError:
            pass
print(json.dumps({"found": found, "seen": seen}))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A home whose ``tiny`` has one row of each kind; two of them made of the solved commit."""
    home = tmp_path_factory.mktemp("kinds")
    tiny = make_tiny_environment(home / ".codegym" / "environments" / "tiny")
    issue = replace(tiny_task(tiny), kind="FixIssue", problem_statement=STATEMENT)
    solved, broken = gold_tree(issue, tiny), base_tree(issue, tiny)
    src = "src/tinycalc/order.py"
    mutant = replace(
        issue,
        instance_id="tiny-mutant",
        base_commit=tiny.head,
        start_patch=diff_trees(solved, {**solved, src: broken[src]}),
        test_patch="",
    )
    whole = solved[src].data
    stub = whole[: whole.index(b"    ordered = ")] + b"    raise NotImplementedError\n"
    away = {**solved, src: File(stub)}
    feature = replace(
        mutant,
        instance_id="tiny-feature",
        kind="ImplementFeature",
        start_patch=diff_trees(solved, away),
        patch=diff_trees(away, solved),
        fail_to_pass=(HIDDEN, "tests/test_order.py::test_median_of_odd"),
        pass_to_pass=tuple(test for test in issue.pass_to_pass if "median_of_odd" not in test),
        hidden=frozenset({HIDDEN}),
        problem_statement="",
    )
    write_pack(tiny.folder, [issue, mutant, feature], name="tiny", environments=[tiny])
    return {"home": home, "tiny": tiny, "issue": issue, "mutant": mutant, "feature": feature}


@pytest.fixture
async def play(setting, rows, monkeypatch):
    monkeypatch.chdir(rows["home"])
    played = []

    async def start(name, **options):
        episode = Episode(setting, EpisodeOptions(**options))
        played.append(episode)
        await episode.reset(rows[name])
        return episode

    yield start
    for episode in played:
        await episode.close()


def look(needles):
    script = base64.b64encode(LOOK.encode()).decode()
    coded = " ".join(base64.b64encode(each.encode()).decode() for each in needles)
    run = f"import base64; exec(base64.b64decode('{script}'))"
    return call("bash", command=f'/opt/venv/bin/python -c "{run}" {coded}')


def said(episode):
    """All that a policy is given, as one text."""
    history = episode.history
    seen = [history.first, *(turn.observation for turn in history.turns)]
    parts = [history.task_id, json.dumps(history.tools)]
    return "\n".join([*parts, *(f"{each.instruction}\n{each.output}" for each in seen)])


@pytest.mark.parametrize("name", ["issue", "mutant", "feature"])
async def test_nothing_hidden_is_anywhere_in_the_sandbox(play, name):
    episode = await play(name)
    there = "test_largest"  # shows that the search finds what is there
    answer = (await episode.step(look([*NEEDLES, there]))).observation.output
    looked = json.loads(answer)
    found = {(place, base64.b64decode(needle).decode()) for place, needle in looked["found"]}
    assert {needle for _, needle in found} == {there}
    assert ("/workspace/tests/test_order.py", there) in found
    assert ("git objects", there) in found
    assert looked["seen"] > 1000


@pytest.mark.parametrize("name", ["issue", "mutant", "feature"])
async def test_nothing_hidden_is_said_by_any_tool_or_verdict(play, name):
    episode = await play(name)
    for action in (
        call("run_tests"),
        call("view", path="."),
        call("view", path="tests/test_order.py"),
        call("search", pattern="median"),
        call("bash", command="pytest -q; pytest --collect-only -q; git log -p; git status; env"),
        call("bash", command="sed -i s/return/raise/ src/tinycalc/arith.py"),
        call("run_tests"),
        call("submit"),
    ):
        result = await episode.step(action)
    assert result.info.grade is not None
    assert result.info.grade.score == 0.0
    told = said(episode) + result.info.grade.text + episode.diff()
    assert not [needle for needle in NEEDLES if needle in told]
    assert HIDDEN in {outcome.id for outcome in result.info.grade.outcomes}, "it was run"


@pytest.mark.parametrize("name", ["issue", "mutant"])
async def test_a_hidden_id_looks_like_one_that_does_not_exist(play, name):
    episode = await play(name)
    answers = []
    for asked in (HIDDEN, "tests/test_order.py::test_no_such"):
        output = (await episode.step(call("run_tests", ids=[asked]))).observation.output
        answers.append(output.replace(asked, "ID").partition(";")[0])
    assert answers[0] == answers[1]


async def test_an_issue_is_told_without_the_test_and_solved_by_its_repair(play, rows, fix):
    for name in ("issue", "mutant"):
        episode = await play(name)
        instruction = episode.history.first.instruction
        assert "median([1, 2]) gives 2 where 1.5 is right. See [a test]" in instruction
        assert "Failing tests" not in instruction
        tests = await episode.step(call("run_tests"))
        assert (tests.observation.failing, tests.observation.passing > 0) == (0, True)
        await episode.step(Action(fix))
        solved = await episode.step(call("submit"))
        assert solved.reward == 1.0
        assert solved.info.kind == "FixIssue"
        assert solved.info.grade.text.startswith("Solved: ")


async def test_a_feature_is_named_and_its_shown_tests_are_there(play, rows):
    episode = await play("feature")
    instruction = episode.history.first.instruction
    assert "- src/tinycalc/order.py::median\n" in instruction
    assert "- tests/test_order.py::test_median_of_odd" in instruction
    assert "Failing tests (1)" in instruction
    tests = (await episode.step(call("run_tests"))).observation
    assert tests.failing == 1
    # What passes the shown test only does not pass the hidden one.
    path = "src/tinycalc/order.py"
    half = call("edit", path=path, old="raise NotImplementedError", new="return sorted(numbers)[1]")
    await episode.step(half)
    assert (await episode.step(call("run_tests"))).observation.failing == 0
    failed = await episode.step(call("submit"))
    assert failed.reward == 0.0
    assert "other checks failed" in failed.info.grade.text
    again = await play("feature")
    gold = gold_tree(rows["feature"], rows["tiny"])[path].data.decode()
    await again.step(call("write", path=path, content=gold))
    assert (await again.step(call("submit"))).reward == 1.0


async def test_own_tests_in_a_test_file_cost_nothing(play, fix):
    episode = await play("issue")
    await episode.step(Action(fix))
    added = "\n\ndef test_median_of_two():\n    assert median([1, 2]) == 1.5\n"
    await episode.step(call("bash", command=f"cat >> tests/test_order.py <<'E'\n{added}E"))
    solved = await episode.step(call("submit"))
    assert (solved.reward, solved.info.grade.tampering) == (1.0, ())


async def test_time_that_an_endpoint_lost_is_not_the_policys(play):
    for lost_sec in (0.0, 60.0):
        episode = await play("issue", max_episode_sec=0.2)
        await asyncio.sleep(0.3)
        result = await episode.step(Action(call("bash", command="true"), lost_sec=lost_sec))
        assert result.truncated == (lost_sec == 0)


def test_the_ids_present_each_row_as_its_kind(rows, monkeypatch):
    monkeypatch.chdir(rows["home"])
    env = gym.make("CodeGym/Tasks-v0", tasks="tiny")
    try:
        kinds = {}
        for name in ("tiny-median", "tiny-mutant", "tiny-feature"):
            _, info = env.reset(options={"task_id": name})
            kinds[name] = info["kind"]
    finally:
        env.close()
    assert set(kinds.values()) == {"FixIssue", "ImplementFeature"}
    with pytest.raises(UsageError, match=r"1 of 3 rows.*no problem statement"):
        gym.make("CodeGym/FixIssue-v0", tasks="tiny")
    env = gym.make("CodeGym/ImplementFeature-v0", tasks="tiny")
    try:  # chooses the features
        for seed in range(5):
            assert env.reset(seed=seed)[1]["task_id"] == "tiny-feature"
        with pytest.raises(UsageError, match=r"FixIssue row: no feature"):
            env.reset(options={"task_id": "tiny-mutant"})
    finally:
        env.close()
