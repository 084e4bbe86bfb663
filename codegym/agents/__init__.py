"""Policies that come with CodeGym, and how a policy is found by name.

None keeps anything of an episode: what to do next follows from the history alone.
"""

from codegym.agents.load import load_policy, policy_options
from codegym.agents.noop import Noop
from codegym.agents.oracle import Oracle
from codegym.agents.random import Random
from codegym.agents.random_edit import RandomEdit
from codegym.agents.replay import Replay
from codegym.agents.scripted import Scripted
from codegym.agents.unigram import Unigram

__all__ = [
    "Noop",
    "Oracle",
    "Random",
    "RandomEdit",
    "Replay",
    "Scripted",
    "Unigram",
    "load_policy",
    "policy_options",
]
