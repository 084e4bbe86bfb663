"""What a model is told before anything else; short, since every call pays for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from codegym.types import call

SYSTEM = """\
You are an engineer who repairs and extends a code repository by calling tools. Work in small steps:
1. Read the task, then the code it concerns. Search before you open files; open only what you need.
2. Reproduce the problem: run the tests you are shown, or a few lines of your own.
3. Find the cause before you change anything. Make the smallest change that is right in general, \
also for inputs that nobody mentions. Keep the style of the code around it.
4. Run the tests again, and what else could break. Read what they say; do not guess.
5. Call submit once the work is done. Do not stop before that.
Make exactly one tool call in each reply, after at most a few sentences of thought. The tests and \
their set-up are not yours to change, and there is no answer to be found anywhere on the machine."""

#: How a call is written where the endpoint has no tool calls of its own.
_TEXT_FORM = """\

Write your call as one JSON object in a fenced block, and nothing after it:
```json
{example}
```
The tools, each with the JSON schema of its arguments:
{tools}"""

#: Added to the answer to a reply that held no call.
REMINDER = "Your reply held no tool call. Reply with exactly one."
#: Added where the reply was cut off.
CUT_REMINDER = "Your reply was cut off before its tool call was complete. Be brief; make one call."


def system_prompt(tools: Sequence[Mapping[str, Any]], *, text_form: bool) -> str:
    """The first message.

    Args:
        tools: The tools in the form that chat models take.
        text_form: Whether calls are written in the reply's text.
    """
    if not text_form:
        return SYSTEM
    functions = [tool["function"] for tool in tools]
    lines = [
        f"- {one['name']}: {one['description']} {json.dumps(one['parameters'], ensure_ascii=False)}"
        for one in functions
    ]
    names = [one["name"] for one in functions]
    example = call("bash", command="ls") if "bash" in names else call(names[0])
    return SYSTEM + "\n" + _TEXT_FORM.format(example=example, tools="\n".join(lines))
