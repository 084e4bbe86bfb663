"""``hf:PATH_OR_NAME``: a language model in this process, tokens in, tokens out.

``LanguageModel`` is the policy by name; ``TokenPolicy`` the same over an engine of your own, as a
trainer has it; ``Renderer`` turns histories into tokens and only ever appends.
"""

from codegym.agents.lm.model import LanguageModel
from codegym.agents.lm.parsing import Parsed, parse
from codegym.agents.lm.policy import TokenPolicy
from codegym.agents.lm.renderer import Renderer

__all__ = ["LanguageModel", "Parsed", "Renderer", "TokenPolicy", "parse"]
