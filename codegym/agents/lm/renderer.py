"""From what happened to the tokens that a model is asked with. Tokens are only ever appended.

The law: the prompt of a turn starts with the prompt and the completion of the turn before, token
for token. What was sampled is never decoded and encoded again. Where that must be broken (a full
context), a new sequence begins, whose past replies are the sampled tokens all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from codegym.agents.chat.messages import answer, in_text, left_out, parse_call
from codegym.agents.chat.prompt import system_prompt
from codegym.agents.lm.parsing import Parsed, parse
from codegym.agents.lm.template import Between, Role, Template, written
from codegym.errors import UsageError
from codegym.types import History, TokenTrace, Trajectory, Turn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_REMEMBERED = 64
#: What an agent writes and reads must come back as it was.
_SAMPLE = 'def f(x):\n    if x  !=  \'é ≠ "\':\n\t\treturn x ** 2  # {"a": [1, 2]}\n\n\n<b> .,;\n'


class Renderer:
    """Renders histories for one tokenizer and one set of tools.

    Args:
        tokenizer: Of transformers.
        tools: In the form that chat models take (``History.tools``).
        tool_format: ``"native"``, ``"text"`` or ``"auto"``: see ``Template``.

    Attributes:
        native: Whether calls are made as the chat template has them.
        note: What a user should know of it: that there is no template, say; or ``""``.

    Raises:
        UsageError: Tokenizer or template cannot be used; says why.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        tools: Sequence[Mapping[str, Any]],
        *,
        tool_format: str = "auto",
    ) -> None:
        check_round_trip(tokenizer)
        self._tokenizer, self._tools = tokenizer, tuple(tools)
        self._template = Template(tokenizer, self._tools, tool_format)
        self.native, self.note = self._template.native, self._template.note
        self._firsts: dict[str, tuple[int, ...]] = {}

    @cached_property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end a completion; the last token of one that was not cut off."""
        ends = {self._template.stop[0], self._tokenizer.eos_token_id}
        return frozenset(each for each in ends if each is not None)

    def prompt(self, history: History) -> tuple[int, ...]:
        """The next prompt: goes on from the last turn's tokens where there are any."""
        last = history.turns[-1] if history.turns else None
        if last is not None and last.action.tokens and last.action.tokens.prompt_ids:
            return self.extend(last.action.tokens, last)
        return self.begin(history)

    def begin(self, history: History, *, elided: int = 0) -> tuple[int, ...]:
        """The next prompt, made from the start: a new sequence.

        Args:
            history: All that happened.
            elided: So many of the oldest turns are shown without what they printed.
        """
        ids = self._first(history.first.instruction)
        for number, turn in enumerate(history.turns):
            said = turn.action.tokens.completion_ids if turn.action.tokens else None
            if said is None:
                said = self.completion(turn.action.text, turn.action.thought)
            ids += said + self._answer(turn, said, elided=number < elided)
        return ids

    def _first(self, instruction: str) -> tuple[int, ...]:
        """The first prompt; remembered, since a group's episodes all begin with the same."""
        if instruction not in self._firsts:
            system = system_prompt(self._tools, text_form=not self.native)
            while len(self._firsts) >= _REMEMBERED:
                self._firsts.pop(next(iter(self._firsts)))
            self._firsts[instruction] = self._template.first(system, instruction)
        return self._firsts[instruction]

    def extend(self, trace: TokenTrace, turn: Turn) -> tuple[int, ...]:
        """The prompt after a turn: all of the turn's tokens, then what came of it."""
        said = trace.completion_ids
        return trace.prompt_ids + said + self._answer(turn, said)

    def read(self, completion_ids: Sequence[int]) -> Parsed:
        """What a completion says."""
        ids = list(completion_ids)
        while ids and ids[-1] in self.stop_ids:
            ids.pop()
        return parse(self.decode(ids), self._tools)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of tokens, special ones as they are written."""
        text = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return str(text)

    def completion(self, action: str, thought: str = "") -> tuple[int, ...]:
        """The tokens that a model would write for an action, the one that ends its turn included.

        Raises:
            UsageError: The action spells out the token that ends a turn.
        """
        called = parse_call(action)
        if called is None:
            text = "\n".join(part for part in (thought, action) if part)
        elif self.native:
            text = self._template.call(*called, thought)
        else:
            text = in_text(*called, thought)
        ids = self._template.encode(text, special=self.native)
        if self.stop_ids.intersection(ids):
            raise UsageError(f"an action holds the token that ends a turn: {action[:80]!r}")
        return (*ids, self._template.stop[0])

    def hinted(self, prompt_ids: Sequence[int], hint: str) -> tuple[int, ...]:
        """A prompt with a hint added to the end of its last message; nothing else is changed.

        Raises:
            UsageError: The prompt does not end where the model writes on.
        """
        for between in self._between.values():
            end = len(prompt_ids) - len(between.after)
            if tuple(prompt_ids[end:]) == between.after:
                text = written(f"\n{hint}", escaped=between.escaped)
                said = self._template.encode(text, special=False)
                return (*prompt_ids[:end], *said, *between.after)
        raise UsageError("a hint has no place in a prompt that another template rendered")

    def demonstrate(self, trajectory: Trajectory) -> Trajectory:
        """The same trajectory with tokens, as if the model had written its actions.

        For training on demonstrations; log-probabilities are 0.0. Raises what ``completion`` does.
        """
        history = History(trajectory.task_id, self._tools, trajectory.first, (), trajectory.seed)
        for turn in trajectory.turns:
            said = self.completion(turn.action.text, turn.action.thought)
            trace = TokenTrace(self.prompt(history), said, (0.0,) * len(said))
            told = replace(turn, action=replace(turn.action, tokens=trace))
            history = replace(history, turns=(*history.turns, told))
        return replace(trajectory, turns=history.turns)

    def _answer(self, turn: Turn, said: Sequence[int], *, elided: bool = False) -> tuple[int, ...]:
        """From the end of a completion to where the model writes on."""
        output = turn.observation.output
        content = answer(turn, left_out(output) if elided else output)
        role: Role = "user"
        if self.native and parse_call(turn.action.text) is not None:
            role = "tool"
        between = self._between[role]
        closed = between.closes if said and said[-1] in self.stop_ids else 0
        text = written(content, escaped=between.escaped)
        middle = self._template.encode(text, special=False)
        return between.before[closed:] + middle + between.after

    @cached_property
    def _between(self) -> Mapping[Role, Between]:
        user = self._template.between("user")
        if not self.native:
            return {"user": user}
        try:
            return {"user": user, "tool": self._template.between("tool")}
        except UsageError:  # it lists tools, but has no place for what they answer
            return {"user": user, "tool": user}


@dataclass(frozen=True, slots=True)
class _Difference:
    """Where a text first differs from what came back of it."""

    want: str
    got: str

    @classmethod
    def of(cls, want: str, got: str) -> _Difference:
        """The first difference, with a little around it."""
        pairs = zip(want, got, strict=False)
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(want), len(got)))
        return cls(want[max(0, at - 8) : at + 8], got[max(0, at - 8) : at + 8])


def check_round_trip(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise ``UsageError`` where code does not come back from a tokenizer as it was."""
    ids = tokenizer(_SAMPLE, add_special_tokens=False)["input_ids"]
    back = str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))
    if back != _SAMPLE:
        seen = _Difference.of(_SAMPLE, back)
        raise UsageError(
            f"tokenizer {tokenizer.name_or_path!r} does not round-trip: {seen.want!r} comes back "
            f"as {seen.got!r}. A model cannot write code through it; use one with byte fallback"
        )
