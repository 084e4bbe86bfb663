"""The audit in real sandboxes: whatever is left in one, anywhere, is found there."""

from __future__ import annotations

import base64
import json
import secrets
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from codegym.grading.setting import Setting
from codegym.redteam.audit import AuditReport, audit
from codegym.sandbox.backends import pick
from codegym.tasks import sources
from codegym.types import Task

#: What leaves a marker, and a part of the path at which it is to be found.
PLANTS = {
    "workspace": ("mkdir -p docs/old && echo $M > docs/old/notes.txt", "/workspace/docs/old/notes"),
    "tmp": ("mkdir -p /tmp/.a/.b && echo $M > /tmp/.a/.b/c", "/tmp/.a/.b/c"),
    "home": ("mkdir -p ~/.cache/pip && echo $M > ~/.cache/pip/x", "/home/agent/.cache/pip/x"),
    "shm": ("echo $M > /dev/shm/segment", "/dev/shm/segment"),
    "shut": ("mkdir /tmp/s && echo $M > /tmp/s/f && chmod 0 /tmp/s/f /tmp/s", "/tmp/s/f"),
    "name": ("touch /tmp/$M.py", "(names"),
    "folder-name": ("mkdir -p /tmp/e/$M", "(names"),
    "link": ("ln -s /nowhere/$M /tmp/link", "(names"),
    "environ": ("SECRET=$M sleep 600 &", "/environ"),
    "argument": ("bash -c 'sleep 600; :' $M &", "/cmdline"),
    "variable": ("SECRET=$M", "/mem "),
    "memory": (
        ("python3 -c 'import sys, time; x = bytes.fromhex(sys.stdin.read()); time.sleep(600)' "
        "<<< $(printf $M | python3 -c 'import sys; print(sys.stdin.read().encode().hex())') &"),
        "/mem ",
    ),
    "memfd": (
        ("python3 -c 'import os, sys, time; d = os.memfd_create(chr(120)); "
        "os.write(d, sys.stdin.buffer.read()); time.sleep(600)' <<< $M &"),
        "/fd/",
    ),
    "deleted": ("(echo $M > /tmp/gone; exec 9</tmp/gone; rm /tmp/gone; exec sleep 600) &", "/fd/9"),
    "git-object": ("echo $M | git hash-object -w --stdin", "/workspace/.git/objects/"),
    "git-pack": (
        ("n=$(echo $M | git hash-object -w --stdin); p=.git/objects/pack/pack; "
        "n=$(echo $n | git pack-objects -q $p); touch $p-$n.keep; git prune-packed -q"),
        "/workspace/.git/objects/pack/",
    ),
    "bytecode": (
        ("echo \"def f(): return '$M'\" > /tmp/m.py; python3 -c "
        "'import py_compile as p; p.compile(\"/tmp/m.py\", \"/tmp/m.pyc\")'; rm /tmp/m.py"),
        "/tmp/m.pyc",
    ),
    "large": (
        ("truncate -s 40M /tmp/large; "
        "printf $M | dd of=/tmp/large bs=1 seek=$((2**25 - 9)) conv=notrunc status=none"),
        "/tmp/large",
    ),
    "base64": ("echo $M | base64 > /tmp/b64", "/tmp/b64"),
    "tar-gz": ("cd /tmp && echo $M > t && tar czf t.tgz t && rm t", "/tmp/t.tgz"),
    "stub": ("mkdir typings; echo \"def f(): '''$M'''\" > typings/f.pyi", "/typings/f.pyi"),
}  # fmt: skip


class Planting(Setting):
    """Leaves things in each sandbox that it starts."""

    script = ""

    async def start(self, ready):
        box = await super().start(ready)
        for line in self.script.splitlines():
            await box.shell(line)
        return box


#: What any code may hold is no trace of this one's.
COMMONPLACE = """\
--- /dev/null
+++ b/src/tinycalc/extra.py
@@ -0,0 +1,3 @@
+class Extra:
+    def __init__(self, *args, **kwargs):
+        super().__init__(*args, **kwargs)
"""


async def audited(tasks: list[Task], script: str, markers: list[str]) -> AuditReport:
    setting = Planting(pick("bubblewrap"))
    setting.script = script
    try:
        return await audit(tasks, setting, markers=markers)
    finally:
        await setting.close()


async def test_what_is_left_anywhere_in_a_sandbox_is_found(victim):
    markers = {name: f"PLANT_{secrets.token_hex(8)}" for name in PLANTS}
    lines = [
        f"cd /workspace; {script.replace('$M', markers[name])}"
        for name, (script, _) in PLANTS.items()
    ]
    solved = victim.gold[victim.target].data
    lines.append(f"echo {base64.b64encode(solved).decode()} | base64 -d > /tmp/solved")
    lines.append("""echo '{"instance_id": "tiny-0", "FAIL_TO_PASS": []}' > /tmp/rows.jsonl""")
    (task,) = sources.resolve("tiny")
    task = replace(task, patch=task.patch + COMMONPLACE)
    report = await audited([task], "\n".join(lines), list(markers.values()))

    found = {
        name: [leak.path for leak in report.leaks if leak.text == text]
        for name, text in markers.items()
    }
    missed = {name for name in PLANTS if not any(PLANTS[name][1] in path for path in found[name])}
    assert missed == set()
    assert any("/mem " in path and "/proc/1/" not in path for path in found["memory"])
    (large,) = [leak for leak in report.leaks if leak.path == "/tmp/large"]
    assert large.offset == 2**25 - 9
    told = [leak for leak in report.leaks if "/mem " not in leak.path]  # of the shell: commands
    others = {(leak.kind, leak.path) for leak in told if leak.kind != "marker"}
    assert others == {("row", "/tmp/rows.jsonl"), ("gold", "/tmp/solved"), ("copy", "/tmp/solved")}


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "codegym", "audit", *arguments]
    return subprocess.run(run, cwd=home, capture_output=True, text=True, check=False)


def test_the_command_tells_of_a_leak_and_of_nothing_else(home):
    """Whose user the sandbox runs as is no secret; here it stands for one."""
    secret = "agent:x:1000:1000"
    ran = command(home, "tiny", "--marker", secret, "--json")
    assert ran.returncode == 1, ran.stderr
    report = json.loads(ran.stdout)
    assert {(leak["kind"], leak["path"]) for leak in report["leaks"]} == {("marker", "/etc/passwd")}
    assert (report["clean"], report["tasks"]) == (False, ["tiny-0"])
    assert report["files"] > 1000
    assert report["unread"] == []


def test_a_short_marker_is_refused(home):
    ran = command(home, "tiny", "--marker", "x")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--marker: shorter than 8 bytes" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["kvlog", "calcsheet", "routekit", "jotbox", "rowloom", "spanwise"]
)
def test_bundled_environments_are_clean(name):
    ran = command(Path.cwd(), name, "--tasks", "4")
    assert ran.returncode == 0, ran.stdout
