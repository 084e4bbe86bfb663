"""What reports quote of test modules, as it was written."""

from __future__ import annotations

import re
from collections.abc import Collection

from codegym.grading.observe.rewriting import NAME
from codegym.types import Tree

#: Where it is, the line that is quoted, and what is underlined of it.
_QUOTED = re.compile(
    rf"(?P<place>^(?:E   )?(?P<path>\S+?):(?P<line>\d+): in .*\n[ \t]+)"
    rf"(?P<text>.*{NAME}.*)(?:\n[ \t]*[~^]+[ \t]*$)?",
    re.MULTILINE,
)


def as_written(message: str, rewritten: Collection[str], tree: Tree, prefix: str) -> str:
    """A report of rewritten test modules, with the lines that their authors know.

    Args:
        message: Any text; no trust is needed.
        rewritten: Paths of these modules in the project.
        tree: The files as they were.
        prefix: Where in the tree the project is: nothing, or ``services/api/``.
    """

    def line(found: re.Match[str]) -> str:
        path = found["path"]
        if path not in rewritten or f"{prefix}{path}" not in tree:
            return found[0]
        lines = tree[f"{prefix}{path}"].data.decode(errors="replace").splitlines()
        at = int(found["line"]) - 1
        return found["place"] + lines[at].strip() if at < len(lines) else found[0]

    return _QUOTED.sub(line, message) if NAME in message else message
