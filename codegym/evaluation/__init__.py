"""Policies compared: the same tasks and seeds for each, and what the differences are worth."""

from codegym.evaluation.comparing import Comparison, compare
from codegym.evaluation.evaluate import EvaluationConfig, evaluate, open_evaluation, unplayed
from codegym.evaluation.report import PolicyReport, Report, report_on

__all__ = [
    "Comparison",
    "EvaluationConfig",
    "PolicyReport",
    "Report",
    "compare",
    "evaluate",
    "open_evaluation",
    "report_on",
    "unplayed",
]
