"""Asking a policy, which is somebody else's code, for its next action."""

from __future__ import annotations

import asyncio
import inspect
import traceback

from codegym.errors import CodeGymError, UsageError
from codegym.types import Action, History, Policy


async def ask(policy: Policy, history: History, left_sec: float) -> Action | None:
    """The policy's next action.

    Args:
        policy: Asked; one whose ``bounds_its_time`` is true ends by itself and is not cut off.
        history: What it is given.
        left_sec: Wall time that it has.

    Returns:
        The action; a text is one, too. None: it was cut off, as its time was over.

    Raises:
        CodeGymError: As the policy raises it.
        UsageError: It raised anything else, which is the cause, or what it returned is no action.
    """
    bound_sec = None if getattr(policy, "bounds_its_time", False) else left_sec
    try:
        async with asyncio.timeout(bound_sec) as timer:
            action = await _act(policy, history)
    except CodeGymError:
        raise  # it says all there is to say
    except Exception as error:  # whatever is wrong with it, it is told as the policy's
        if isinstance(error, TimeoutError) and timer.expired():
            return None
        raise UsageError(f"policy {_name(policy)} raised {_told(error)}") from error
    if isinstance(action, str):
        return Action(action)
    if not isinstance(action, Action):
        raise UsageError(
            f"policy {_name(policy)}: act returned {_kind(action)}; "
            "it returns an Action, or the text of one, as codegym.call writes it"
        )
    return action


async def _act(policy: Policy, history: History) -> object:
    asked: object = policy.act(history)
    if not inspect.isawaitable(asked):
        raise UsageError(
            f"policy {_name(policy)}: act is not asynchronous, it returned {_kind(asked)}; "
            "write `async def act(self, history)`"
        )
    answer: object = await asked
    return answer


def _name(policy: Policy) -> str:
    kind = type(policy)
    return f"{kind.__module__}:{kind.__qualname__}"


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _told(error: Exception) -> str:
    """An error in one line, with the place that raised it."""
    said = " ".join(str(error).split())[:500]
    *_, last = traceback.extract_tb(error.__traceback__)
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"{what} ({last.filename}:{last.lineno})"
