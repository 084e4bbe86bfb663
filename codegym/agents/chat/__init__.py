"""``chat:MODEL``: a language model behind any endpoint that speaks OpenAI's chat protocol."""

from codegym.agents.chat.policy import Chat

__all__ = ["Chat"]
