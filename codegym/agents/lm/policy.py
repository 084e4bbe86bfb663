"""The policy over an engine: what happened becomes tokens, sampled tokens become an action."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from codegym.agents.chat.messages import CUT, NO_CALL
from codegym.agents.lm.renderer import Renderer
from codegym.errors import UsageError
from codegym.types import Action, Engine, History, SamplingParams, TokenTrace, call

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: How the note of a turn begins whose prompt could not just go on.
FULL = "context full"
#: Older outputs are left out by so many turns at once, so that sequences do not end at every turn.
_STEP = 4
#: The outputs that stay take at most this share of the room there is for outputs.
_SHARE = 0.6


class VersionedEngine(Engine, Protocol):
    """An engine whose weights have a version."""

    @property
    def version(self) -> str:
        """Of its weights."""
        ...

    @property
    def note(self) -> str:
        """What it did of its own accord, or ``""``; said in the next action's note."""
        ...

    @property
    def context_tokens(self) -> int:
        """Most tokens of a prompt and its completion together."""
        ...


class ClosableEngine(VersionedEngine, Protocol):
    """One that holds more than memory of its own."""

    async def aclose(self) -> None:
        """Let go of it. Idempotent."""
        ...


@dataclass
class TokenPolicy:
    """Samples each action from an engine. What is asked follows from the history alone.

    Every action carries its tokens and their log-probabilities. The prompt of a turn starts with
    the tokens of the turn before, unless the context was full: then ``Action.note`` begins with
    ``"context full"`` and the turn begins a new sequence, in which the oldest outputs are left out.

    Attributes:
        engine: Generates.
        tokenizer: Of transformers; the engine's.
        params: How it samples; the seed is the policy's: each request's is made of it, of the
            episode's and of the turn's number.
        tool_format: As for ``Renderer``.
        context_tokens: Most tokens of prompt and completion together; 0: what the engine can.
    """

    engine: VersionedEngine
    tokenizer: PreTrainedTokenizerBase
    params: SamplingParams = field(default_factory=SamplingParams)
    tool_format: str = "auto"
    context_tokens: int = 0

    #: A batch ends by itself; cutting one off would throw away what is asked for anew.
    bounds_its_time: ClassVar[bool] = True
    _renderers: dict[str, Renderer] = field(init=False, repr=False, default_factory=dict)
    _said: str = field(init=False, repr=False, default="")

    @property
    def version(self) -> str:
        """The weights'."""
        return self.engine.version

    def renderer(self, tools: Sequence[Mapping[str, Any]]) -> Renderer:
        """The renderer for some tools. Raises ``UsageError`` where the tokenizer has none."""
        key = json.dumps(list(tools), sort_keys=True)
        if key not in self._renderers:
            self._renderers[key] = Renderer(self.tokenizer, tools, tool_format=self.tool_format)
        return self._renderers[key]

    async def act(self, history: History) -> Action:
        """Sample the next action.

        Raises:
            UsageError: The task itself does not fit into the context.
            UnavailableError: The machine has too little memory.
        """
        renderer = self.renderer(history.tools)
        prompt, note = self._fitting(renderer, history)
        notes = [renderer.note] if not history.turns and renderer.note else []
        notes += [note] if note else []
        if prompt is None:
            return Action(call("submit"), tokens=_nothing_said(history), note="; ".join(notes))
        trace = await self.engine.generate(list(prompt), self._params(history))
        parsed = renderer.read(trace.completion_ids)
        if not parsed.called:
            notes.append(NO_CALL)
            if self._was_cut(renderer, trace):
                notes.append(CUT)
        notes += [parsed.note] if parsed.note else []
        if self.engine.note != self._said:
            self._said = self.engine.note
            notes.append(self._said)
        return Action(parsed.action, tokens=trace, thought=parsed.thought, note="; ".join(notes))

    def _fitting(self, renderer: Renderer, history: History) -> tuple[tuple[int, ...] | None, str]:
        """The prompt with as much as fits (None: nothing does), and what is said of it."""
        room = self._room()
        prompt = renderer.prompt(history)
        if len(prompt) <= room:
            return prompt, ""
        turns = len(history.turns)
        if not turns:
            raise UsageError(
                f"the task itself, {len(prompt)} tokens, does not fit into {room} "
                "(context_tokens less max_tokens); use a model with a longer context or fewer tools"
            )
        shortest = renderer.begin(history, elided=turns)
        if len(shortest) > room:
            return None, f"{FULL}: nothing more could be left out; submitted"
        elided, prompt = turns, shortest
        # What is left free is for the turns to come: a new sequence at every turn helps nobody.
        enough = len(shortest) + _SHARE * (room - len(shortest))
        for count in sorted({*range(_STEP, turns, _STEP), turns - 1} - {0}):
            longer = renderer.begin(history, elided=count)
            if len(longer) <= (enough if count < turns - 1 else room):
                elided, prompt = count, longer
                break
        said = f"{FULL}: output of the {elided} oldest turns left out, a new sequence begins"
        return prompt, said

    def _room(self) -> int:
        """Most tokens of a prompt."""
        bounds = [self.engine.context_tokens, self.context_tokens]
        return min(bound for bound in bounds if bound) - self.params.max_tokens

    def _params(self, history: History) -> SamplingParams:
        text = f"{self.params.seed or 0} {history.seed} {len(history.turns)}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1
        return replace(self.params, seed=seed)

    def _was_cut(self, renderer: Renderer, trace: TokenTrace) -> bool:
        said = trace.completion_ids
        ended = said and said[-1] in renderer.stop_ids
        return not ended and len(said) >= self.params.max_tokens


def _nothing_said(history: History) -> TokenTrace | None:
    """Tokens of a turn for which nothing was sampled: nothing of it is trained on."""
    last = history.turns[-1].action.tokens if history.turns else None
    return last and TokenTrace(last.prompt_ids + last.completion_ids, (), ())
