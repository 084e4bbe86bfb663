"""Generation with vLLM, where it is installed: its own batching, paging and prefix cache."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from codegym.agents.lm.loading import need
from codegym.errors import PolicyError, UsageError
from codegym.types import SamplingParams, TokenTrace


class VllmEngine:
    """Token ids in, token ids and log-probabilities out, over ``vllm.AsyncLLMEngine``.

    Args:
        folder: The model's.
        dtype: As vLLM names it.
        context_tokens: Most tokens of prompt and completion; 0: the model's own.
        version: Of the weights.
        memory_share: Of the GPU's memory that vLLM may take.

    Raises:
        UnavailableError: vLLM is not installed.
    """

    note = ""

    def __init__(
        self,
        folder: Path,
        *,
        dtype: str = "auto",
        context_tokens: int = 0,
        version: str = "",
        memory_share: float = 0.85,
    ) -> None:
        need("vllm", "vllm")
        import vllm

        self._vllm: Any = vllm
        arguments = vllm.AsyncEngineArgs(
            model=str(folder),
            dtype=dtype,
            max_model_len=context_tokens or None,
            gpu_memory_utilization=memory_share,
            enable_prefix_caching=True,
            # Of the distribution that is drawn from: after temperature and nucleus.
            logprobs_mode="processed_logprobs",
        )
        self._engine = vllm.AsyncLLMEngine.from_engine_args(arguments)
        self._version, self._numbers = version, itertools.count()
        self._context = context_tokens or int(arguments.create_model_config().max_model_len)

    @property
    def version(self) -> str:
        """Of the weights."""
        return self._version

    @property
    def context_tokens(self) -> int:
        """Most tokens of a prompt and its completion together."""
        return self._context

    async def generate(self, prompt_ids: list[int], params: SamplingParams) -> TokenTrace:
        """Sample a continuation, as ``TransformersEngine.generate`` does.

        Raises:
            UsageError: The prompt is empty or leaves no room in the context.
            PolicyError: vLLM gave no answer.
        """
        room = self._context - len(prompt_ids)
        if not prompt_ids or room < 1:
            raise UsageError(
                f"a prompt of {len(prompt_ids)} tokens cannot be continued: the context has "
                f"{self._context}"
            )
        asked = self._vllm.SamplingParams(
            temperature=params.temperature,
            top_p=params.top_p,
            max_tokens=min(params.max_tokens, room),
            stop=list(params.stop) or None,
            seed=None if params.seed is None else params.seed % 2**31,
            logprobs=0,  # of the drawn token alone
            include_stop_str_in_output=True,
            skip_special_tokens=False,
        )
        last = None
        async for output in self._engine.generate(
            {"prompt_token_ids": prompt_ids}, asked, request_id=f"codegym-{next(self._numbers)}"
        ):
            last = output
        if last is None or not last.outputs:
            raise PolicyError("vLLM gave no answer")
        return _trace(prompt_ids, last.outputs[0])

    async def refresh(self, version: str) -> None:
        """Read the weights anew from the model's folder, and forget what is cached."""
        await self._engine.collective_rpc("reload_weights")
        await self._engine.reset_prefix_cache()
        self._version = version

    async def aclose(self) -> None:
        """End the engine's processes. Idempotent; it cannot be used again."""
        self._engine.shutdown()


def _trace(prompt_ids: list[int], said: Any) -> TokenTrace:
    ids = tuple(int(each) for each in said.token_ids)
    logprobs = tuple(
        float(given[token].logprob) for token, given in zip(ids, said.logprobs, strict=True)
    )
    return TokenTrace(tuple(prompt_ids), ids, logprobs)
