"""What was learned survives being killed, and going on is the same as never having stopped."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from training import trained  # noqa: E402

from codegym.errors import DataError, UsageError  # noqa: E402
from codegym.training.checkpoint import STATE_FILE, Checkpoints  # noqa: E402
from codegym.training.learner import Steps  # noqa: E402
from codegym.training.metrics import Metrics, read_metrics  # noqa: E402

pytestmark = [pytest.mark.train, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
STEPS = 12


def _start(folder, steps):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(trained.__file__)), str(folder), str(steps)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def _state(folder):
    return torch.load(folder / "checkpoints" / "latest" / STATE_FILE, weights_only=True)


def _same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    with torch.random.fork_rng():
        trained.train(folder, STEPS)
    return folder


@pytest.mark.timeout(300)
def test_a_training_that_is_killed_again_and_again_ends_as_if_it_had_not_been(
    tmp_path, undisturbed
):
    """``kill -9`` right after some step was said: while a checkpoint is written, or just before."""
    seen = []
    for kill_at in (3, 8):
        with _start(tmp_path, STEPS) as process:
            for line in process.stdout:
                seen.append(int(line))
                if seen[-1] >= kill_at:
                    process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    with _start(tmp_path, STEPS) as process:
        rest = [int(line) for line in process.stdout]
    assert process.returncode == 0
    assert rest[-1] == STEPS
    assert rest[0] > 1  # it did go on
    assert sorted({*seen, *rest}) == list(range(1, STEPS + 1))

    assert _same(_state(tmp_path), _state(undisturbed))
    assert read_metrics(tmp_path) == read_metrics(undisturbed)


def _write(text):
    def write(folder):
        (folder / "model.safetensors").write_text(text)
        (folder / STATE_FILE).write_text(text)

    return write


def test_the_folder_is_the_newest_model(tmp_path):
    with Checkpoints(tmp_path, {}) as folder:
        for step in (1, 2, 3):
            folder.save(step, _write(str(step)))
            assert (tmp_path / "model.safetensors").read_text() == str(step)
        assert folder.latest.name == "step-3"
    assert sorted(p.name for p in (tmp_path / "checkpoints").glob("step-*")) == ["step-2", "step-3"]
    assert not (tmp_path / STATE_FILE).exists()


def test_a_checkpoint_that_fails_half_way_leaves_the_one_before(tmp_path):
    def broken(folder):
        (folder / "model.safetensors").write_text("half")
        raise RuntimeError("the power went")

    with Checkpoints(tmp_path, {}) as folder:
        folder.save(1, _write("1"))
        with pytest.raises(RuntimeError, match="the power went"):
            folder.save(2, broken)
        assert (tmp_path / "model.safetensors").read_text() == "1"
    with Checkpoints(tmp_path, {}) as folder:  # its half is cleared away
        assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == ["latest", "step-1"]
        folder.save(2, _write("2"))
        assert (tmp_path / "model.safetensors").read_text() == "2"


def test_one_that_was_written_but_did_not_count_yet_is_written_again(tmp_path):
    with Checkpoints(tmp_path, {}) as folder:
        folder.save(1, _write("1"))
        stale = tmp_path / "checkpoints" / "step-2"
        stale.mkdir()
        (stale / "model.safetensors").write_text("from a start that was killed")
        assert folder.latest.name == "step-1"
        folder.save(2, _write("2"))
    assert (tmp_path / "model.safetensors").read_text() == "2"


def test_another_training_is_refused_and_what_differs_is_named(tmp_path):
    with Checkpoints(tmp_path, {"tasks_digest": "aa", "seed": "0"}) as folder:
        folder.save(1, _write("1"))
    with pytest.raises(UsageError, match="tasks_digest was 'aa', is 'bb'; went was None, is 'in'"):
        Checkpoints(tmp_path, {"tasks_digest": "bb", "seed": "0", "went": "in"})
    Checkpoints(tmp_path, {"tasks_digest": "aa", "seed": "0"}).close()


def test_where_nothing_was_learned_yet_another_training_may_begin(tmp_path):
    Checkpoints(tmp_path, {"init": "mistyped"}).close()
    with Checkpoints(tmp_path, {"init": "right"}) as folder:
        folder.save(1, _write("1"))
    with pytest.raises(UsageError, match="init was 'right'"):
        Checkpoints(tmp_path, {"init": "mistyped"})


def test_one_process_trains_at_a_time(tmp_path):
    with Checkpoints(tmp_path, {}), pytest.raises(UsageError, match="is writing this run"):
        Checkpoints(tmp_path, {})


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match=r"not empty \(thesis.tex…\)"):
        Checkpoints(tmp_path, {})


def test_a_state_of_another_model_is_refused(tmp_path, undisturbed, tiny_model):
    from codegym.training.learner import Learner

    other = Learner(tiny_model, trained.NoTokenizer(), Steps())
    with pytest.raises(DataError, match="cannot be gone on from"):
        other.load(undisturbed / "checkpoints" / "latest")


def test_metrics_after_the_checkpoint_are_measured_again(tmp_path):
    with Metrics(tmp_path, 0) as metrics:
        for step in (1, 2, 3):
            metrics.add(step, {"loss": step / 10, "odd": float("nan")})
    with Metrics(tmp_path, 2) as metrics:
        metrics.add(3, {"loss": 9.0})
    assert read_metrics(tmp_path) == [
        {"step": 1.0, "loss": 0.1},
        {"step": 2.0, "loss": 0.2},
        {"step": 3.0, "loss": 9.0},
    ]
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])["odd"] is None
