"""What a check says of grades that rest on the runner's report alone."""

from dataclasses import replace

from support import tiny_task

from codegym import authoring
from codegym.authoring.protection import Protection, shares
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


def test_siblings_that_take_shown_answers_are_counted_apart():
    found = shares(
        [
            Protection({"observed": 2}, siblings=3, familiar=3, hard_codable=False),
            Protection({"observed": 1, "controls": 1}, 3, familiar=1, forging_bound=1e-9),
            Protection({"report_only": 2}),
            Protection({"observed": 2}, siblings=1, forging_bound=1e-5),
        ]
    )
    assert (found.tasks, found.fail_to_pass) == (4, 8)
    assert found.tests == {"observed": 0.625, "controls": 0.125, "report_only": 0.25}
    assert (found.siblings, found.familiar, found.small_bound) == (0.5, 0.25, 0.25)
