"""Images: what a sandbox starts from, made of immutable layers in the cache."""

from codegym.sandbox.images.build import build_image
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.lock import Pin, read_lock
from codegym.sandbox.images.root import build_root
from codegym.sandbox.images.similarity import Match, refusal, shared_functions
from codegym.sandbox.images.toolchains import missing_toolchains, toolchain_names

__all__ = [
    "Interpreter",
    "Match",
    "Pin",
    "build_image",
    "build_root",
    "missing_toolchains",
    "read_lock",
    "refusal",
    "shared_functions",
    "toolchain_names",
]
