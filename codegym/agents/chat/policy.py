"""The policy: what happened becomes messages, the reply becomes an action."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from codegym.agents.chat import messages as chat
from codegym.agents.chat.endpoint import Endpoint, RefusedError
from codegym.agents.chat.prompt import system_prompt
from codegym.agents.chat.replies import Reply, read_reply, spoken
from codegym.errors import UnavailableError, UsageError
from codegym.types import Action, History, Usage, call

_FORMAT = "1"  # changes whenever the same history would be asked about differently
_BASE_URLS = ("CODEGYM_BASE_URL", "OPENAI_BASE_URL")
#: Characters of a token, where nothing better is known.
_TOKEN_CHARS = 3.0


@dataclass
class Chat:
    """Asks a model for each action. Messages follow from the history alone.

    Attributes:
        model: Its name at the endpoint.
        base_url: Where the API is; by default ``CODEGYM_BASE_URL``, else ``OPENAI_BASE_URL``.
        api_key_env: The variable that holds the key; the key itself is written nowhere.
        tool_form: How calls are made: ``"native"``, in ``"text"``, or ``"auto"``: as the endpoint
            can.
        temperature: >= 0; None: the endpoint's own, as for the others.
        top_p: In (0, 1].
        seed: Makes each request's seed, with the episode's seed and the turn.
        max_tokens: Most tokens of one reply.
        context_tokens: What the model can read and write together; 0 where it is not known: then
            less is sent only when the endpoint refuses.
        max_episode_tokens: Tokens read and sampled, after which an episode is submitted; 0: no end.
        max_run_tokens: Tokens after which the run stops, to be resumed with more; 0: no end.
        timeout_sec: Wall time of one request.
        max_retries: Further attempts where one failed in a way that may pass.
        concurrency: Requests at once.
    """

    model: str
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    tool_form: Literal["auto", "native", "text"] = "auto"
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int = 4096
    context_tokens: int = 0
    max_episode_tokens: int = 0
    max_run_tokens: int = 0
    timeout_sec: float = 300.0
    max_retries: int = 6
    concurrency: int = 16

    version: str = field(init=False, default="")
    #: A request ends by itself, and time lost to the endpoint is known only then.
    bounds_its_time: ClassVar[bool] = True
    #: What may change when a run is resumed: where, how patiently, how much in all.
    unpinned: ClassVar[frozenset[str]] = frozenset({
        "base_url", "api_key_env", "max_run_tokens", "timeout_sec", "max_retries", "concurrency",
    })  # fmt: skip
    _endpoint: Endpoint = field(init=False, repr=False)
    _spent: int = field(init=False, default=0)
    _text_only: bool = field(init=False, default=False)
    _limit_name: str = field(init=False, default="max_tokens")

    def __post_init__(self) -> None:
        self._check()
        urls = (self.base_url, *(os.environ.get(name, "") for name in _BASE_URLS))
        url = next((url for url in urls if url.strip()), "")
        if not url:
            raise UsageError(
                "chat: where is the model? Give --base-url URL (for example "
                f"http://localhost:8000/v1) or set {_BASE_URLS[0]}"
            )
        self._endpoint = Endpoint(
            base_url=url,
            key=os.environ.get(self.api_key_env, "").strip(),
            key_name=self.api_key_env,
            timeout_sec=self.timeout_sec,
            max_retries=self.max_retries,
            concurrency=self.concurrency,
        )
        said = system_prompt((), text_form=False)
        self.version = f"{_FORMAT}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def _check(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("model", bool(self.model.strip()), "named: chat:MODEL"),
            ("temperature", self.temperature is None or self.temperature >= 0, "at least 0"),
            ("top_p", self.top_p is None or 0 < self.top_p <= 1, "in (0, 1]"),
            ("max_tokens", self.max_tokens >= 1, "at least 1"),
            ("timeout_sec", self.timeout_sec > 0, "above 0"),
            ("max_retries", 0 <= self.max_retries <= 100, "0 to 100"),
            ("concurrency", self.concurrency >= 1, "at least 1"),
            ("context_tokens", self._has_room(), "0, or more than max_tokens"),
            ("max_episode_tokens", self.max_episode_tokens >= 0, "at least 0"),
            ("max_run_tokens", self.max_run_tokens >= 0, "at least 0"),
        )
        for name, right, wanted in rules:
            if not right:
                raise UsageError(f"chat: {name}: must be {wanted}, got {getattr(self, name)!r}")

    def _has_room(self) -> bool:
        return self.context_tokens == 0 or self.context_tokens > self.max_tokens

    def charge(self, tokens: int) -> None:
        """Note what was spent on the run before."""
        self._spent += tokens

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        await self._endpoint.aclose()

    async def act(self, history: History) -> Action:
        """Ask for the next action.

        Raises:
            PolicyError: The endpoint failed, so often as is tried.
            UnavailableError: It is down, or the run's tokens are spent.
            UsageError: Key, model or address are wrong, or the model can read too little.
        """
        if self.max_run_tokens and self._spent >= self.max_run_tokens:
            raise UnavailableError(
                f"the run has spent {self._spent} tokens of max_run_tokens={self.max_run_tokens}",
                "Give the same command with more to go on where it was",
            )
        spent = sum(turn.action.usage.total for turn in history.turns if turn.action.usage)
        if self.max_episode_tokens and spent >= self.max_episode_tokens:
            return Action(call("submit"), note=f"max_episode_tokens: {spent} spent; submitted")
        return await self._ask(history)

    @property
    def name(self) -> str:
        """What it is called on a command line."""
        return f"chat:{self.model}"

    async def say(self, system: str, prompt: str) -> str:
        """Ask for a text. Raises what ``act`` does."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        while True:
            request = self._sampled(messages, self.seed)
            try:
                answer = await self._endpoint.complete(request, read_reply)
            except RefusedError as refusal:
                self._give_in(refusal, text_form=True)
                continue
            return "" if answer.value.called else spoken(answer.value.action)

    async def _ask(self, history: History) -> Action:
        """Send as much of what happened as fits."""
        notes: list[str] = []
        left = [level for level in chat.levels(history) if level >= self._first_level(history)]
        while left:
            elided = left[0]
            text_form = self.tool_form == "text" or self._text_only
            request = self._request(history, elided, text_form=text_form)
            try:
                answer = await self._endpoint.complete(request, read_reply)
            except RefusedError as refusal:
                if refusal.meaning == "too_long":
                    left = left[max(1, len(left) // 2) :]  # few attempts, however long it is
                    continue
                self._give_in(refusal, text_form=text_form)
                continue
            notes.append(chat.note_of(elided, history))
            if self._text_only and not history.turns:
                notes.append("the endpoint takes no tool calls: asked for in text")
            return replace(self._action(answer.value, request, notes), lost_sec=answer.lost_sec)
        if not history.turns:
            raise UsageError(
                f"chat: the task itself does not fit into what {self.model} can read; "
                "use a model with a longer context, or fewer tools"
            )
        return Action(
            call("submit"), note="context full: nothing more could be left out; submitted"
        )

    def _first_level(self, history: History) -> int:
        """How much to leave out from the start, by what is known of the model."""
        levels = chat.levels(history)
        if not self.context_tokens:
            return levels[0]
        room = (self.context_tokens - self.max_tokens) * _TOKEN_CHARS
        for level in levels:
            sent = chat.build(history, text_form=self.tool_form == "text", elided=level)
            if chat.characters(sent, history.tools) <= room:
                return level
        return levels[-1]

    def _give_in(self, refusal: RefusedError, *, text_form: bool) -> None:
        """Change what the endpoint will not take; raise where there is nothing to change."""
        if refusal.meaning == "no_tools" and self.tool_form == "auto" and not text_form:
            self._text_only = True
        elif refusal.meaning == "other_limit" and self._limit_name == "max_tokens":
            self._limit_name = "max_completion_tokens"
        else:
            raise UsageError(f"chat: {self._endpoint.base_url} refuses the request ({refusal})")

    def _request(self, history: History, elided: int, *, text_form: bool) -> dict[str, Any]:
        sent = chat.build(history, text_form=text_form, elided=elided)
        seed = None if self.seed is None else _seed(self.seed, history.seed, len(history.turns))
        request = self._sampled(sent, seed)
        if not text_form:
            request |= {"tools": list(history.tools), "tool_choice": "auto"}
        return request

    def _sampled(self, messages: list[dict[str, Any]], seed: int | None) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "messages": messages, "stream": False}
        request[self._limit_name] = self.max_tokens
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if self.top_p is not None:
            request["top_p"] = self.top_p
        if seed is not None:
            request["seed"] = seed
        return request

    def _action(self, reply: Reply, request: Mapping[str, Any], notes: list[str]) -> Action:
        usage = reply.usage
        if usage is None:
            usage = _estimated(request, reply)
            notes.append("tokens estimated")
        self._spent += usage.total
        notes += [reply.note, "" if reply.called else chat.NO_CALL, chat.CUT if reply.cut else ""]
        said = "; ".join(note for note in notes if note)
        return Action(reply.action, usage=usage, thought=reply.thought, note=said)


def _seed(*parts: int) -> int:
    """A seed of 31 bits; different for each episode and turn, the same for the same."""
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4]) >> 1


def _estimated(request: Mapping[str, Any], reply: Reply) -> Usage:
    sent = chat.characters(request["messages"], request.get("tools", ()))
    got = len(reply.action) + len(reply.thought)
    return Usage(round(sent / _TOKEN_CHARS), round(got / _TOKEN_CHARS))
