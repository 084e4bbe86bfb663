"""A chat endpoint on loopback, and what it can answer."""

import pytest
from chat_server import completion, error, native, serving, text


@pytest.fixture
def server(monkeypatch):
    for name in ("CODEGYM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as made:
        yield made


@pytest.fixture
def answers():
    """The constructors of answers."""

    class Answers:
        pass

    for function in (native, text, error, completion):
        setattr(Answers, function.__name__, staticmethod(function))
    return Answers
