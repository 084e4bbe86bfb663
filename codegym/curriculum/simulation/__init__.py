"""Which sampler, on which pool, by how much: the samplers themselves, against made-up learners."""

from codegym.curriculum.simulation.running import Compared, Setup, compare
from codegym.curriculum.simulation.worlds import LEARNERS, POOLS

__all__ = ["LEARNERS", "POOLS", "Compared", "Setup", "compare"]
