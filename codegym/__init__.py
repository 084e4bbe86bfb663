"""CodeGym: code repositories as reinforcement-learning environments that cannot be cheated.

Importing it registers the Gymnasium ids, loads nothing else, prints nothing and starts nothing.
"""

from codegym.registration import register
from codegym.types import call
from codegym.version import __version__

__all__ = ["__version__", "call"]

register()
