"""A tokenizer's chat template, taken apart: what precedes, ends and separates turns, as tokens.

Contents are never part of what a template renders. It renders marks in their place, and the text
around the marks is encoded apart from the contents: so an output that spells out a special token
is text to the model, and begins no turn of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from codegym.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Message = dict[str, Any]
Tools = Sequence[Mapping[str, Any]]
Role = Literal["user", "tool"]

#: For tokenizers that have none.
PLAIN = (
    "{{ bos_token or '' }}{% for message in messages %}"
    "{{ message['role'] | capitalize + ':\n' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:\n' }}{% endif %}"
)
#: A template that holds this comment is given no system message, in no form.
NO_SYSTEM = "{# codegym: no system message #}"
_PROBE_TOOL = {
    "type": "function",
    "function": {
        "name": "zQprobeQz",
        "description": "A probe.",
        "parameters": {"type": "object", "properties": {}},
    },
}
#: A template that prints the date would make of each day's prompts others.
_DATE = "01 Jan 2026"
_WRITTEN = "zQwrittenQz"


@dataclass(frozen=True, slots=True)
class Between:
    """What stands between a completion and the next one, around a content.

    Attributes:
        before: From the completion's end to the content.
        closes: So many ids of it end the turn; a completion that ended itself has them already.
        after: From the content to where the model writes on.
        escaped: Whether the content is written as in a JSON string.
    """

    before: tuple[int, ...]
    closes: int
    after: tuple[int, ...]
    escaped: bool


class Template:
    """Renders one tokenizer's conversations over one set of tools.

    Args:
        tokenizer: Of transformers.
        tools: In the form that chat models take.
        tool_format: ``"native"``: as the template has calls; ``"text"``: in the reply's text;
            ``"auto"``: native where the template knows tools.

    Attributes:
        native: Which of them it is.
        note: What a user should know of it, or ``""``.

    Raises:
        UsageError: The template cannot be used, or lacks what is asked for.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, tools: Tools, tool_format: str = "auto"
    ) -> None:
        self._tokenizer, self._tools = tokenizer, [dict(tool) for tool in tools]
        self._plain = not tokenizer.chat_template
        self.note = "no chat template: CodeGym's plain one is used" if self._plain else ""
        if self._plain and tokenizer.eos_token is None:
            raise UsageError(
                f"{self.name}: its tokenizer has neither a chat template nor an end-of-sequence "
                "token, so no reply would ever end; set one of them in tokenizer_config.json"
            )
        knows_tools = not self._plain and self._knows_tools()
        if tool_format == "native" and not knows_tools:
            raise UsageError(
                f"{self.name}: its chat template takes no tools; use tool_format=text, or auto"
            )
        self.native = knows_tools and tool_format != "text"

    @property
    def name(self) -> str:
        """The tokenizer's."""
        return str(self._tokenizer.name_or_path or type(self._tokenizer).__name__)

    @cached_property
    def stop(self) -> tuple[int, str]:
        """The token that ends an assistant's turn, and its text in the template (or ``""``)."""
        tail = self._text([_user("u"), _assistant(_WRITTEN)], prompt=False).split(_WRITTEN)[-1]
        for each in self.encode(tail, special=True):
            if each in self._tokenizer.all_special_ids:
                return each, str(self._tokenizer.decode([each]))
        if self._tokenizer.eos_token_id is None:
            raise UsageError(f"{self.name}: nothing ends a turn: it has no end-of-sequence token")
        return int(self._tokenizer.eos_token_id), ""

    def first(self, system: str, instruction: str) -> tuple[int, ...]:
        """The prompt of the first turn."""
        if NO_SYSTEM in str(self._tokenizer.chat_template):
            return self._ids([_user(instruction)])
        try:
            return self._ids([{"role": "system", "content": system}, _user(instruction)])
        except _TemplateError:  # some know no system
            return self._ids([_user(f"{system}\n\n{instruction}")])

    def between(self, role: Role) -> Between:
        """What leads from one completion to the next. Raises ``UsageError`` where nothing does."""
        dummies: list[Message] = [_assistant(_WRITTEN)]
        if role == "tool":
            dummies.insert(0, self._assistant_call(self._tool_name, {"x": _WRITTEN}, ""))
        problem: Exception | None = None
        for dummy in dummies:
            conversation = [_user("u"), dummy, {"role": role, "content": "c"}]
            if role == "tool":
                conversation[-1] |= {"tool_call_id": "call00000", "name": self._tool_name}
            try:
                (before, _), (after, escaped) = self._parts(conversation, (2,))
            except _TemplateError as error:
                problem = error
                continue
            found = self._end(before.split(_WRITTEN)[-1])
            if found is not None:
                return Between(*found, self.encode(after, special=True), escaped)
        raise UsageError(f"{self.name}: its chat template takes no {role} after a reply: {problem}")

    def _end(self, tail: str) -> tuple[tuple[int, ...], int] | None:
        stop_id, stop_text = self.stop
        if stop_text:
            start = tail.find(stop_text)
            if start < 0:
                return None
            tail = tail[start:]
        ids = self.encode(tail, special=True)
        return ids, ids.index(stop_id) + 1 if stop_id in ids else 0

    def call(self, name: str, arguments: Mapping[str, Any], thought: str) -> str:
        """How the model writes a call, without what ends its turn."""
        asked = [_user(_WRITTEN)]
        prompt = self._text(asked, prompt=True).split(_WRITTEN)[-1]
        made = [*asked, self._assistant_call(name, arguments, thought)]
        try:
            whole = self._text(made, prompt=False).split(_WRITTEN)[-1]
        except _TemplateError:
            whole = ""
        written = whole.removeprefix(prompt) if whole.startswith(prompt) else ""
        stop_text = self.stop[1]
        if written and stop_text in written:
            return written[: written.rindex(stop_text)] if stop_text else written.rstrip()
        block = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        return f"{thought}\n<tool_call>\n{block}\n</tool_call>".lstrip()

    def encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        """Tokens of a text; special ones are read in it only where that is wanted."""
        found = self._tokenizer(text, add_special_tokens=False, split_special_tokens=not special)
        return tuple(found["input_ids"])

    # Rendering

    @property
    def _tool_name(self) -> str:
        return str(self._tools[0]["function"]["name"]) if self._tools else "bash"

    def _knows_tools(self) -> bool:
        system = {"role": "system", "content": "s"}
        for messages in ([system, _user("u")], [_user("u")]):
            with suppress(_TemplateError):
                return "zQprobeQz" in self._render(messages, [_PROBE_TOOL], prompt=True)
        return False

    def _ids(self, messages: list[Message]) -> tuple[int, ...]:
        """Tokens of a conversation up to where the model writes on."""
        contents = [message["content"] for message in messages]
        found: tuple[int, ...] = ()
        parts = self._parts(messages, range(len(messages)))
        for (text, escaped), content in zip(parts, ["", *contents], strict=True):
            found += self.encode(written(content, escaped=escaped), special=False)
            found += self.encode(text, special=True)
        return found

    def _parts(self, messages: list[Message], places: Sequence[int]) -> list[tuple[str, bool]]:
        """The text after each content (and before the first), and how that content is written."""
        marked = list(messages)
        for place in places:
            marked[place] = {**messages[place], "content": f'zQ{place}Qz\n"zQ{place}Qz'}
        rendered = self._text(marked, prompt=True)
        parts = re.split(r"zQ(\d+)Qz(.*?)zQ\1Qz", rendered, flags=re.DOTALL)
        if [int(place) for place in parts[1::3]] != list(places):
            raise _TemplateError("it does not give every content, once and in order")
        return [(parts[0], False)] + [
            (text, between != '\n"') for between, text in zip(parts[2::3], parts[3::3], strict=True)
        ]

    def _text(self, messages: list[Message], *, prompt: bool) -> str:
        return self._render(messages, self._tools if self.native else None, prompt=prompt)

    def _render(
        self, messages: list[Message], tools: list[dict[str, Any]] | None, *, prompt: bool
    ) -> str:
        from jinja2 import TemplateError

        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages,
                    tools=tools,
                    chat_template=PLAIN if self._plain else None,
                    tokenize=False,
                    add_generation_prompt=prompt,
                    date_string=_DATE,
                )
            )
        except (TemplateError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise _TemplateError(f"{self.name}: its chat template fails: {error}") from error

    def _assistant_call(self, name: str, arguments: Mapping[str, Any], thought: str) -> Message:
        made = {
            "id": "call00000",
            "type": "function",
            "function": {"name": name, "arguments": dict(arguments)},
        }
        return {"role": "assistant", "content": thought, "tool_calls": [made]}


class _TemplateError(UsageError):
    """A template would not render a conversation."""


def written(content: str, *, escaped: bool) -> str:
    """A content as the template writes it."""
    return json.dumps(content, ensure_ascii=False)[1:-1] if escaped else content


def _user(content: str) -> Message:
    return {"role": "user", "content": content}


def _assistant(content: str) -> Message:
    return {"role": "assistant", "content": content}
