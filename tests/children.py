"""What child processes of tests run: a spawned child imports this by its name."""

from pathlib import Path

import gymnasium as gym

from codegym.tasks import load_environment
from codegym.workspace.history import open_history


def make_tiny_env():
    import codegym  # noqa: F401 - registers the ids

    return gym.make("CodeGym/FixTests-v0", tasks="tiny", max_output_chars=2000)


def open_history_together(folder: str, start, results) -> None:
    start.wait()
    results.put(str(open_history(load_environment(Path(folder))).path))
