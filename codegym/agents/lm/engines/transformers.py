"""Generation in this process with transformers: one batch that requests join and leave.

All running requests take one step at a time together. A sequence's keys and values are kept after
its request ends, so that the next turn's prompt, which goes on from there, costs only what is new.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import torch

from codegym.agents.lm.engines.drafts import Heard
from codegym.agents.lm.engines.pool import Pool
from codegym.agents.lm.engines.sampling import draw
from codegym.agents.lm.engines.slots import Request, Slot, Slots
from codegym.agents.lm.engines.trouble import first_line, is_memory, told
from codegym.errors import UnavailableError, UsageError
from codegym.types import SamplingParams, TokenTrace

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_STEPS_SEC = 0.1  # after which who was cancelled is noticed
_CHUNK = 512  # tokens of one sequence read at once
_PASS_TOKENS = 8192  # tokens of all sequences read at once, about
_CPU_BYTES = 1 << 30
_GPU_SHARE = 0.3
_DRAFTED_TOKENS = 256  # of all sequences, whose logits are there at once
_STOP_TAIL = 16  # tokens looked at for stop strings, besides the string's own length

_Job = tuple[Request, "asyncio.Future[TokenTrace]"]
_Result = tuple[Request, TokenTrace | Exception]


class TransformersEngine:
    """Generates for many callers at once. Of one event loop at a time.

    Args:
        model: A causal model on its device; the trainer's own object may be given, and trained
            further while nothing is generated (see ``refresh``).
        tokenizer: Its tokenizer.
        stop_ids: Tokens that end a completion; the model's own are added.
        version: Of the weights.
        max_batch: Most sequences generated at once.
        cache_bytes: Most memory for keys and values; None: 1 GiB, on a GPU 30 % of what is free.

    Attributes:
        note: What it had to do of its own accord (out of memory, say), or ``""``.
        guessed_tokens: Tokens so far that took no pass of their own (see ``drafts``).

    Raises:
        UsageError: The model's attention is of a kind that it cannot cache.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        stop_ids: frozenset[int] = frozenset(),
        version: str = "",
        max_batch: int = 64,
        cache_bytes: int | None = None,
    ) -> None:
        self.note, self.guessed_tokens = "", 0
        self._model, self._tokenizer, self._version = model, tokenizer, version
        self._stop_ids = stop_ids | _ends(model, tokenizer)
        self._max_batch = max_batch
        model.eval()
        self._pool = Pool(model)
        bound = _memory(model.device) if cache_bytes is None else cache_bytes
        self._slots = Slots(self._pool, bound, 2 * max_batch)
        self._heard = Heard()
        self._arrived: list[_Job] = []
        self._waiting: list[_Job] = []
        self._jobs: dict[Request, asyncio.Future[TokenTrace]] = {}
        self._over: list[_Result] = []
        self._stale, self._held = False, 0
        self._lock: asyncio.Lock | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    @property
    def version(self) -> str:
        """Of the weights."""
        return self._version

    @property
    def context_tokens(self) -> int:
        """Most tokens of a prompt and its completion together."""
        return self._pool.context_tokens

    @property
    def reused_tokens(self) -> int:
        """Tokens of prompts that did not have to be read, so far."""
        return self._slots.reused

    async def generate(self, prompt_ids: list[int], params: SamplingParams) -> TokenTrace:
        """Sample a continuation.

        Log-probabilities are those of the distribution that was sampled from: after temperature
        and nucleus (``top_p``). At temperature 0 they are the model's own, at temperature 1.
        A completion ends with a stop token, after a stop string, after ``max_tokens``, or where the
        context is full. The same seed gives the same tokens, whatever else is in the batch.

        Raises:
            UsageError: The prompt is empty or leaves no room in the context.
            UnavailableError: There is too little memory even for this request alone.
        """
        room = self.context_tokens - len(prompt_ids)
        if not prompt_ids or room < 1:
            raise UsageError(
                f"a prompt of {len(prompt_ids)} tokens cannot be continued: the context has "
                f"{self.context_tokens}"
            )
        if params.max_tokens > room:
            params = SamplingParams(
                params.temperature, params.top_p, room, params.stop, params.seed
            )
        future: asyncio.Future[TokenTrace] = asyncio.get_running_loop().create_future()
        self._arrived.append((Request(list(prompt_ids), params), future))
        self._start()
        return await future

    async def load_weights(self, weights: Mapping[str, torch.Tensor], version: str) -> None:
        """Copy weights in (a state dict, or part of one), then ``refresh``.

        Raises:
            UsageError: A name or a shape is not the model's; nothing was changed then.
        """
        own = self._model.state_dict()
        for name, tensor in weights.items():
            if name not in own or own[name].shape != tensor.shape:
                raise UsageError(f"weights {version!r}: {name} is not of this model")
        async with self.paused():
            with torch.no_grad():
                for name, tensor in weights.items():
                    own[name].copy_(tensor)
            await self.refresh(version)

    async def refresh(self, version: str) -> None:
        """Note that the model's weights were changed in place: what is cached is forgotten."""
        self._version, self._stale = version, True

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """No step runs within; running requests go on afterwards, under the weights there then."""
        self._held += 1
        try:
            async with self._locked():
                yield
        finally:
            self._held -= 1

    async def aclose(self) -> None:
        """Free the cache; requests that wait are cancelled. Idempotent: it can be used again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._thread is not None:
            self._thread.shutdown()
        self._end(None)
        self._task = self._thread = self._lock = None

    # The loop's side

    def _locked(self) -> asyncio.Lock:
        if self._lock is None:
            self._lock = asyncio.Lock()
        return self._lock

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())
            self._task.add_done_callback(self._on_end)

    async def _work(self) -> None:
        """Take steps as long as there is something to do."""
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="codegym-engine")
        while self._arrived or self._waiting or self._jobs:
            async with self._locked():
                self._look_around()
                for request, result in await loop.run_in_executor(self._thread, self._steps):
                    self._settle(request, result)
            await asyncio.sleep(0)  # those that were answered may ask again, to be in the next step

    def _look_around(self) -> None:
        """Take in what arrived; forget what nobody waits for."""
        self._waiting = [job for job in self._waiting + self._arrived if not job[1].done()]
        self._arrived = []
        for row in self._slots.running:
            slot = self._slots[row]
            if slot.request is not None and self._jobs[slot.request].done():
                del self._jobs[slot.request]
                slot.free()

    def _settle(self, request: Request, result: TokenTrace | Exception) -> None:
        future = self._jobs.pop(request)
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Whatever ended the work, nobody may wait for ever."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._end(error)

    def _end(self, error: BaseException | None) -> None:
        """Forget everything; those who wait are told, or cancelled."""
        self._slots.clear()
        for _, future in [*self._arrived, *self._waiting, *self._jobs.items()]:
            if not future.done() and error is not None:
                future.set_exception(told(error))
            future.cancel()
        self._arrived, self._waiting, self._jobs, self._over = [], [], {}, []

    # The thread's side: everything below runs while the loop's side waits

    def _steps(self) -> list[_Result]:
        """Steps until something is to be told or taken in: each change of threads costs time."""
        end = time.monotonic() + _STEPS_SEC
        while True:
            self._step()
            if self._over or self._arrived or self._held or time.monotonic() > end:
                over, self._over = self._over, []
                return over

    def _step(self) -> None:
        """One token for every request that can have one."""
        if self._model.training:
            self._model.eval()
        if self._stale:
            self._slots.forget()
            self._stale = False
        try:
            self._admit()
            self._advance()
        except RuntimeError as error:
            if not is_memory(error):
                raise
            self._shrink(error)

    def _admit(self) -> None:
        """Give rows to those that wait, in order. None that is held up is overtaken for long."""
        for job in list(self._waiting):
            if len(self._jobs) >= self._max_batch:
                break
            request, future = job
            try:
                placed = self._slots.place(request)
            except UnavailableError as error:  # this one's alone
                placed = "yes"
                self._over.append((request, error))
            if placed == "full":
                break
            if placed == "yes":
                self._waiting.remove(job)
                self._jobs[request] = future

    def _advance(self) -> None:
        slots = self._slots
        running = slots.running
        reading = [row for row in running if slots[row].pending > 1]
        chunk = min(_CHUNK, max((slots[row].pending for row in reading), default=1))
        reading = reading[: max(1, _PASS_TOKENS // chunk)]
        for rows, most in ((reading, chunk), ([r for r in running if slots[r].pending == 1], 1)):
            if rows:
                self._forward(rows, most)

    def _forward(self, rows: Sequence[int], most: int) -> None:
        """Read up to ``most`` tokens into each row; where all are read, a draft, and draw."""
        slots = [self._slots[row] for row in rows]
        ids = [slot.ids[slot.cached : slot.cached + most] for slot in slots]
        drafts = [self._draft(slot, len(rows)) if most == 1 else [] for slot in slots]
        logits = self._pool.forward(
            rows,
            [read + draft for read, draft in zip(ids, drafts, strict=True)],
            [slot.cached for slot in slots],
            [1 + len(draft) for draft in drafts],
        )
        for slot, read in zip(slots, ids, strict=True):
            slot.cached += len(read)
        places = [place for place, slot in enumerate(slots) if not slot.pending]
        for step in range(1 + max(map(len, drafts))):
            places = self._drawn(logits, places, step, slots, drafts)

    def _draft(self, slot: Slot, rows: int) -> list[int]:
        if slot.request is None:
            return []
        return slot.request.draft(self._heard, max(1, _DRAFTED_TOKENS // rows))

    def _drawn(
        self,
        logits: torch.Tensor,
        places: Sequence[int],
        step: int,
        slots: Sequence[Slot],
        drafts: Sequence[list[int]],
    ) -> list[int]:
        """Draw each one's next token; returns those whose draft had it, and that go on."""
        drawing = [(place, slots[place].request) for place in places]
        asked = [(place, request) for place, request in drawing if request is not None]
        if not asked:
            return []
        chosen = torch.tensor([place for place, _ in asked], device=logits.device)
        self._draw(logits[chosen, step], [request for _, request in asked])
        right = []
        for place, request in asked:
            slot, draft = slots[place], drafts[place]
            if self._ended(request):
                self._heard.hear(request.ids, len(request.said))
                self._over.append((request, request.trace()))
                slot.free()
            elif step < len(draft) and draft[step] == request.said[-1]:
                slot.cached += 1
                self.guessed_tokens += 1
                right.append(place)
            elif draft:
                request.missed(step)
        return right

    def _draw(self, logits: torch.Tensor, requests: Sequence[Request]) -> None:
        device = logits.device
        drawn, logprobs = draw(
            logits,
            torch.tensor([each.params.temperature for each in requests], device=device),
            torch.tensor([each.params.top_p for each in requests], device=device),
            torch.tensor([each.chance() for each in requests], dtype=torch.float64, device=device),
        )
        for request, token, logprob in zip(
            requests, drawn.tolist(), logprobs.tolist(), strict=True
        ):
            request.add(token, logprob)

    def _ended(self, request: Request) -> bool:
        params, said = request.params, request.said
        if said[-1] in self._stop_ids or len(said) >= params.max_tokens:
            return True
        if not params.stop:
            return False
        tail = said[-(_STOP_TAIL + max(map(len, params.stop))) :]
        text = self._tokenizer.decode(tail, clean_up_tokenization_spaces=False)
        return any(each in text for each in params.stop)

    def _shrink(self, error: Exception) -> None:
        """Out of memory: forget the cache, go on with half as many at once."""
        running = self._slots.clear()
        if self._max_batch == 1:
            raise UnavailableError(
                f"out of memory on {self._pool.device} even for one sequence ({first_line(error)})",
                "Take smaller context_tokens, a smaller model, dtype=bfloat16, or less cache_mb",
            ) from error
        self._max_batch = max(1, len(running) // 2)
        self.note = f"out of memory: at most {self._max_batch} sequences at once from here on"
        self._waiting = [(each, self._jobs.pop(each)) for each in running] + self._waiting


def _ends(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """The stop tokens that model and tokenizer name."""
    named = getattr(model.generation_config, "eos_token_id", None)
    several = named if isinstance(named, list) else [named]
    return frozenset(each for each in [*several, tokenizer.eos_token_id] if each is not None)


def _memory(device: torch.device) -> int:
    if device.type != "cuda":
        return _CPU_BYTES
    free, _ = torch.cuda.mem_get_info(device)
    return int(_GPU_SHARE * free)
