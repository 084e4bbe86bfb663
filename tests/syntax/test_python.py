"""Python's own parser, in threads."""

import ast
import enum
import gc
import inspect
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from codegym.syntax.python import parse_expression, parse_module

#: Long enough that a garbage collection falls into its parsing.
SOURCE = inspect.getsource(enum)


@pytest.fixture
def switching():
    """Threads take turns at each garbage collection, in the midst of a parse too."""
    waking = threading.Event()

    def pause(*_):
        waking.wait(1e-4)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    gc.callbacks.append(pause)
    yield
    gc.callbacks.remove(pause)
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_threads_parse_at_once():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(parse_module, [SOURCE] * 16))
    assert {len(one.body) for one in found} == {len(ast.parse(SOURCE).body)}


def test_an_expression():
    assert ast.literal_eval(parse_expression(b"[1, {'a': -2}]")) == [1, {"a": -2}]
    with pytest.raises(SyntaxError):
        parse_expression("a = 1")
