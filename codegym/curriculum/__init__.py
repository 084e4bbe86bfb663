"""Chooses tasks so that a learner is always at the edge of what it can do."""

from codegym.curriculum.outcomes import Outcome
from codegym.curriculum.source import Curriculum, open_curriculum
from codegym.curriculum.spec import Spec, load_spec

__all__ = ["Curriculum", "Outcome", "Spec", "load_spec", "open_curriculum"]
