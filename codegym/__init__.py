"""CodeGym: code repositories as reinforcement-learning environments that cannot be cheated."""

from codegym.types import call

__all__ = ["__version__", "call"]
__version__ = "0.1.0"
