"""``run_tests``: the shown tests, in the policy's own sandbox."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from codegym.envs.text import cut_middle
from codegym.envs.workbench import Bench
from codegym.types import Box, TestOutcome, ToolResult

_MAX_SHOWN = 10
_MAX_MESSAGE_CHARS = 1500


class RunTests:
    """Runs shown tests where the policy works. What they say is untrusted and decides nothing."""

    name = "run_tests"
    description = (
        "Run the project's tests here, all that you are shown or those named, and say which fail "
        "and why. Your own new tests: run them with bash."
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "ids": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Test ids; without it, all shown tests.",
            }
        },
    }

    async def __call__(self, box: Box, /, **arguments: Any) -> ToolResult:
        """Run the tests."""
        if not hasattr(box, "run_tests"):
            raise ValueError("run_tests: no tests can be run here")
        bench = cast("Bench", box)
        ids = _select(arguments.get("ids"), bench.shown_tests)
        outcomes = await bench.run_tests(ids)
        failed = [outcome for outcome in outcomes if outcome.outcome not in ("passed", "skipped")]
        passing = sum(outcome.outcome == "passed" for outcome in outcomes)
        return ToolResult(
            _report(failed, passing, len(outcomes)),
            exit_code=1 if failed else 0,
            failing=len(failed),
            passing=passing,
        )


def _select(wanted: Sequence[str] | None, shown: tuple[str, ...]) -> tuple[str, ...]:
    if wanted is None:
        return shown
    if not wanted:
        raise ValueError("ids: the list is empty; leave it out to run all shown tests")
    known = set(shown)
    for test_id in wanted:
        if test_id not in known:
            # Only shown ids are offered: a hidden one must look like one that does not exist.
            near = difflib.get_close_matches(test_id[:200], shown, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"ids: no shown test is {test_id[:200]!r}{hint}")
    return tuple(dict.fromkeys(wanted))


def _report(failed: Sequence[TestOutcome], passing: int, total: int) -> str:
    skipped = total - passing - len(failed)
    counts = f"{len(failed)} failed, {passing} passed" + (f", {skipped} skipped" if skipped else "")
    parts = [counts]
    for outcome in failed[:_MAX_SHOWN]:
        message = cut_middle(outcome.message.strip(), _MAX_MESSAGE_CHARS)
        parts.append(
            f"{outcome.outcome.upper()} {outcome.id}" + (f"\n{message}" if message else "")
        )
    rest = [outcome.id for outcome in failed[_MAX_SHOWN:]]
    if rest:
        parts.append("also failing:\n" + "\n".join(rest[:100]))
        if len(rest) > 100:
            parts.append(f"[… and {len(rest) - 100} more]")
    return "\n\n".join(parts) + "\n"
