"""Runners: one module for each test tool, found by name or as a plug-in."""

from codegym.grading.runners.registry import runner, suite_runner

__all__ = ["runner", "suite_runner"]
