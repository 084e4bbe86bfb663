"""Answers what an episode asks of an index as of a date, and says no."""

from __future__ import annotations

from ..journal import Journal
from ..names import canonical_path
from ..rules import Rule, Verdict
from .client import UnfitError, UpstreamError
from .kinds import Kind, same_name
from .origin import Answer
from .store import Store

_ABSENT = b"not in this index\n"


class Index:
    """One index of one episode.

    Args:
        rule: The rule that allows it.
        kind: What its clients speak.
        denied: Projects that are not there, in the one way to write their names.
        store: What is there.
        journal: The episode's log.
    """

    def __init__(
        self, rule: Rule, kind: Kind, denied: frozenset[str], store: Store, journal: Journal
    ) -> None:
        self._rule, self._kind, self._denied = rule, kind, denied
        self._store, self._journal = store, journal

    def close(self) -> None:
        """End all that is under way; idempotent."""
        self._store.close()

    async def answer(self, path: str, accept: str) -> Answer:
        """The answer to a path that the policy allows; what is not there is in the log.

        Raises:
            ConnectionAbortedError: There is none, as upstream or the disk failed.
        """
        try:
            found = await self._found(path, accept)
        except (UpstreamError, OSError) as error:
            # What an episode chose or used up is its own affair; what is out of reach is not.
            self._note("index" if isinstance(error, UnfitError) else "upstream", path, str(error))
            raise ConnectionAbortedError from error
        if isinstance(found, Answer):
            return found
        self._note("index", path, found)
        return Answer("404 Not Found", text=_ABSENT)  # what is denied looks as if it never was

    async def _found(self, path: str, accept: str) -> Answer | str:
        """What is answered, or why nothing is."""
        ask = self._kind.ask(self._rule.root, canonical_path(path))
        if ask is None:
            return "nothing that an index as of a date answers"
        if same_name(ask.project) in self._denied:
            return f"the project {ask.project!r} is denied"
        listing = await self._store.listing(ask.project)
        if listing is None:
            return f"there is no project {ask.project!r}"
        if ask.what == "file":
            source = listing.sources().get(ask.detail)
            if source is None:
                return f"{ask.project!r} had no such file then"
            kept = await self._store.file(source)
            return kept.refused or Answer("200 OK", "application/octet-stream", file=kept.path)
        told = listing.answer(ask, accept, self._store.origin, self._rule.root)
        if told is None:
            return f"{ask.project!r} had no version {ask.detail!r} then"
        return Answer("200 OK", told[0], told[1].encode(errors="replace"))

    def _note(self, event: str, path: str, why: str) -> None:
        host, port = self._rule.hosts[0], self._rule.ports[0]
        verdict = Verdict(False, self._rule.name, why)
        self._journal.note(event, verdict, host=host, port=port, target=path)
