"""The tiny task, with other failing tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codegym.grading.setting import Ready


async def with_tests(range_: Any, files: Mapping[str, str], *failing: str) -> Ready:
    """Make the task of a range ready with files of tests added, of which some fail.

    Args:
        range_: Of ``grading/conftest.py``.
        files: By name, in ``tests``.
        failing: Node ids.
    """
    task = range_.task
    patch = task.test_patch + "".join(_added(f"tests/{name}", text) for name, text in files.items())
    task = replace(task, instance_id="tiny-tests", test_patch=patch, fail_to_pass=failing)
    ready: Ready = await range_.setting.ready(task, range_.environment)
    return ready


def _added(path: str, text: str) -> str:
    lines = text.splitlines()
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return head + f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
