"""The bundled environments in C, JavaScript and Rust: pinned, clean, and their tasks hold."""

import os
from pathlib import Path

import pytest
from support import git

from codegym.errors import UnavailableError
from codegym.grading.setting import Ready, Setting
from codegym.grading.trials import work_between
from codegym.store import LayerStore
from codegym.tasks import Environment, load_environment, read_info, read_rows
from codegym.types import File, Grade, Task, Tree
from codegym.workspace.prepare import Workshop
from codegym.workspace.trees import gold_tree

BUNDLED = Path(__file__).parents[2] / "environments"
LANGUAGES = {"jotbox": "c", "rowloom": "javascript", "spanwise": "rust"}

_FORGED_TAP = b"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void forge(void)
{
    puts("1..1\\nok 1 - addresses_are_aligned");
    fflush(stdout);
    _exit(0);
}
"""
#: Files that an agent writes instead of a solution; ``+`` adds to what is there.
ATTACKS = {
    "jotbox": {
        "forged-output": {"src/arena.c": b"+" + _FORGED_TAP},
        "other-checks": {"tests/tap.h": b"+\n#undef CHECK\n#define CHECK(condition)\n"},
        "other-build": {"GNUmakefile": b"tests:\n\ttrue\n", "Makefile": b"tests:\n\ttrue\n"},
    },
    "rowloom": {
        "early-exit": {"src/text.js": b"+\nprocess.exit(0);\n"},
        "other-tests": {"tests/text.test.js": b"import 'node:test';\n"},
        "other-package": {
            "package.json": b'{"type": "module", "imports": {"node:test": "./x.js"}}'
        },
    },
    "spanwise": {
        "early-exit": {"src/range_set.rs": b"+\n#[test]\nfn end() { std::process::exit(0) }\n"},
        "other-tests": {"tests/sets.rs": b""},
        "other-runner": {".cargo/config.toml": b"[target.'cfg(unix)']\nrunner = 'true'\n"},
    },
}


def environment(name: str) -> Environment:
    return load_environment(BUNDLED / name)


def rows(name: str) -> list[Task]:
    return list(read_rows(BUNDLED / name / "tasks.jsonl"))


@pytest.mark.parametrize("name", LANGUAGES)
def test_rows_are_from_the_history(name):
    tasks, info = rows(name), read_info(BUNDLED / name)
    assert len(tasks) >= 12
    assert len({task.provenance["commit"] for task in tasks}) == len(tasks)
    assert all(len(task.problem_statement) > 100 and task.fail_to_pass for task in tasks)
    assert {task.language for task in tasks} == {LANGUAGES[name]}
    assert info.environments == {name: environment(name).digest}
    assert len(tasks[-1].test_ids) > 100


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_history_is_what_its_hash_says(name, tmp_path):
    made = environment(name)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "fast-import", "--quiet", stdin=made.history.read_text())
    assert git(tmp_path, "rev-parse", "main").strip() == made.head
    assert 20 <= int(git(tmp_path, "rev-list", "--count", "main")) <= 30


@pytest.mark.parametrize("name", LANGUAGES)
def test_tasks_prepare_clean(name, tmp_path):
    workshop = Workshop(LayerStore(tmp_path), None)
    for task in rows(name)[::5]:
        assert workshop.prepare(task, environment(name)).attestation.clean


@pytest.fixture(params=LANGUAGES)
async def ready(request: pytest.FixtureRequest, setting: Setting) -> Ready:
    """The oldest task of an environment; it has the fewest tests."""
    name = request.param
    try:
        return await setting.ready(rows(name)[0], environment(name))
    except UnavailableError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


async def graded(setting: Setting, ready: Ready, tree: Tree) -> Grade:
    return await setting.grade(ready, work_between(ready.prepared.start_tree, tree))


def attacked(tree: Tree, files: dict[str, bytes]) -> Tree:
    changed = dict(tree)
    for path, data in files.items():
        old = tree[path].data if data.startswith(b"+") else b""
        changed[path] = File(old + data.removeprefix(b"+"))
    return changed


async def test_a_solution_and_nothing_else_scores(setting, ready):
    start = ready.prepared.start_tree
    solved = await graded(setting, ready, gold_tree(ready.task, ready.environment))
    assert (solved.score, solved.assurance) == (1.0, "report_only")
    nothing = await graded(setting, ready, start)
    assert nothing.score == 0.0
    assert nothing.pass_to_pass == 1.0
    for name, files in ATTACKS[ready.environment.name].items():
        assert (await graded(setting, ready, attacked(start, files))).score == 0.0, name
