"""The policy by name: a model's folder or its name on the hub, and how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from codegym.agents.lm.policy import TokenPolicy
from codegym.types import Action, History


@dataclass
class LanguageModel:
    """A Hugging Face causal model, run in this process (``hf:PATH_OR_NAME``).

    Attributes:
        model: A folder in Hugging Face's format, or a name on the hub.
        device: ``"auto"``: a GPU where there is one; else ``"cpu"``, ``"cuda"``, ``"cuda:1"``, …
        dtype: Of weights and cache. ``"auto"``: bfloat16 on a GPU, float32 elsewhere.
        engine: ``"transformers"`` or ``"vllm"``.
        temperature: >= 0; 0 takes the likeliest token.
        top_p: In (0, 1].
        seed: Makes each request's seed, with the episode's seed and the turn.
        max_tokens: Most tokens of one action.
        context_tokens: Most tokens of prompt and completion together; 0: all the model can.
        tool_format: How calls are made: ``"native"`` (as its chat template has them), in
            ``"text"``, or ``"auto"``.
        max_batch: Most sequences generated at once.
        cache_mb: Most memory for keys and values, MiB; 0: half of what is free.
    """

    model: str
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    engine: Literal["transformers", "vllm"] = "transformers"
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    max_tokens: int = 1024
    context_tokens: int = 0
    tool_format: Literal["auto", "native", "text"] = "auto"
    max_batch: int = 64
    cache_mb: int = 0

    #: Where and how fast it is computed may change when a run is resumed.
    unpinned: ClassVar[frozenset[str]] = frozenset({"model", "device", "max_batch", "cache_mb"})
    bounds_its_time: ClassVar[bool] = True
    policy: TokenPolicy = field(init=False, repr=False)

    @property
    def version(self) -> str:
        """Digest of weights and tokenizer; after a weight update, what that was called."""
        raise NotImplementedError

    async def act(self, history: History) -> Action:
        """Sample the next action. Raises what ``TokenPolicy.act`` does."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Let the engine go. Idempotent."""
        raise NotImplementedError
