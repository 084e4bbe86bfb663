"""What a check says of grades that rest on the runner's report alone."""

from dataclasses import replace

from support import tiny_task

from codegym import authoring
from codegym.tasks import resolve, write_pack

READS_ITSELF = """\
from pathlib import Path


def test_text():
    assert "median([4, 1, 2, 3]) == 2.5" in Path(__file__).with_name("test_order.py").read_text()
"""


async def test_why_nothing_is_observed_is_said(tiny, setting):
    lines = READS_ITSELF.splitlines()
    head = "diff --git a/tests/test_text.py b/tests/test_text.py\nnew file mode 100644\n"
    head += f"--- /dev/null\n+++ b/tests/test_text.py\n@@ -0,0 +1,{len(lines)} @@\n"
    task = tiny_task(tiny)
    task = replace(
        task,
        test_patch=task.test_patch + head + "".join(f"+{line}\n" for line in lines),
        pass_to_pass=(*task.pass_to_pass, "tests/test_text.py::test_text"),
    )
    write_pack(tiny.folder, [task], name="tiny", environments=[tiny])
    report = await authoring.check(resolve("tiny"), setting, 1)
    assert report.holds
    (only,) = report.tasks
    assert only.protection.assurance == "report_only"
    assert only.protection.notes == ("tests/test_text.py::test_text cannot be observed",)
