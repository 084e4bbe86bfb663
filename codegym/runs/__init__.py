"""A run: an append-only folder that survives being killed at any byte, and can be resumed."""

from codegym.runs.folder import RunFolder
from codegym.runs.pins import Pins
from codegym.runs.reader import Run, open_run
from codegym.runs.records import EpisodeRecord, TrajectoryHeader
from codegym.runs.summary import Summary, summarize, wilson

__all__ = [
    "EpisodeRecord",
    "Pins",
    "Run",
    "RunFolder",
    "Summary",
    "TrajectoryHeader",
    "open_run",
    "summarize",
    "wilson",
]
