"""The policy by name: a model's folder or its name on the hub, and how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from codegym.agents.lm import loading
from codegym.agents.lm.policy import ClosableEngine, TokenPolicy
from codegym.errors import UsageError
from codegym.types import Action, History, SamplingParams

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
        cache_mb: Most memory for keys and values, MiB; 0: 1024, on a GPU 30 % of what is free.
        policy: What it is made of.

    Raises:
        NotFoundError: There is no such model.
        DataError: Its files cannot be read.
        UnavailableError: A library, a device or memory is missing.
        UsageError: An option's value is wrong, or the tokenizer cannot be used.
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
    unpinned: ClassVar[frozenset[str]] = frozenset({"device", "max_batch", "cache_mb"})
    #: A batch ends by itself; cutting one off would throw away what is asked for anew.
    bounds_its_time: ClassVar[bool] = True
    policy: TokenPolicy = field(init=False, repr=False)
    _engine: ClosableEngine = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        loading.need("train", "torch", "transformers", "jinja2")
        folder = loading.find(self.model)
        tokenizer = loading.load_tokenizer(folder)
        self._engine = self._load(folder, tokenizer)
        self.policy = TokenPolicy(
            self._engine,
            tokenizer,
            SamplingParams(self.temperature, self.top_p, self.max_tokens, seed=self.seed),
            self.tool_format,
            self.context_tokens,
        )
        self.policy.renderer(())  # what is wrong with the tokenizer is told before anything starts

    def _check(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("model", bool(self.model.strip()), "named: hf:PATH_OR_NAME"),
            ("temperature", self.temperature >= 0, "at least 0"),
            ("top_p", 0 < self.top_p <= 1, "in (0, 1]"),
            ("max_tokens", self.max_tokens >= 1, "at least 1"),
            ("context_tokens", self._has_room(), "0, or more than max_tokens"),
            ("max_batch", self.max_batch >= 1, "at least 1"),
            ("cache_mb", self.cache_mb >= 0, "at least 0"),
        )
        for name, right, wanted in rules:
            if not right:
                raise UsageError(f"hf: {name}: must be {wanted}, got {getattr(self, name)!r}")

    def _has_room(self) -> bool:
        return self.context_tokens == 0 or self.context_tokens > self.max_tokens

    def _load(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> ClosableEngine:
        version = loading.digest(folder)
        if self.engine == "vllm":
            from codegym.agents.lm.engines.vllm import VllmEngine

            return VllmEngine(
                folder, dtype=self.dtype, context_tokens=self.context_tokens, version=version
            )
        from codegym.agents.lm.engines.transformers import TransformersEngine

        device = loading.device_named(self.device)
        return TransformersEngine(
            loading.load_model(folder, device, loading.dtype_named(self.dtype, device)),
            tokenizer,
            version=version,
            max_batch=self.max_batch,
            cache_bytes=self.cache_mb * 2**20 if self.cache_mb else None,
        )

    @property
    def version(self) -> str:
        """Digest of weights and tokenizer; after a weight update, what that was called."""
        return self._engine.version

    async def act(self, history: History) -> Action:
        """Sample the next action. Raises what ``TokenPolicy.act`` does."""
        return await self.policy.act(history)

    async def aclose(self) -> None:
        """Free what the engine holds besides the weights. Idempotent."""
        await self._engine.aclose()
