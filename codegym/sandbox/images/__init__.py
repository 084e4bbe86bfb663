"""Images: what a sandbox starts from, made of immutable layers in the cache."""

from codegym.sandbox.images.build import build_image
from codegym.sandbox.images.interpreter import Interpreter
from codegym.sandbox.images.root import build_root

__all__ = ["Interpreter", "build_image", "build_root"]
