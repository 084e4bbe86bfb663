"""Files: reading, writing, collecting, forking."""

from __future__ import annotations

from codegym.sandbox.base import Backend, Sandbox
from codegym.sandbox.conformance.check import check, check_backend, expect, python, says
from codegym.types import Change, Refusal, SandboxSpec


@check
async def files_round_trip(box: Sandbox) -> None:
    """Any bytes, any name, in folders that do not exist yet."""
    for path in ("/workspace/a b/ü'\"$x", "/tmp/x", "relative/file"):
        data = bytes(range(256)) * 100
        await box.write(path, data)
        expect(await box.read(path) == data, f"{path} round-trips")
    await box.write("run.sh", b"#!/bin/sh\necho ran\n", executable=True)
    expect(await says(box, "./run.sh") == "ran", "an executable runs")


@check
async def bad_paths_are_the_callers(box: Sandbox) -> None:
    """What cannot be read or written is a ``ValueError`` that says why."""
    await box.shell("mkfifo pipe; mkdir folder; head -c 100 /dev/zero > big")
    for path in ("missing", "pipe", "folder", "/proc/1/mem", "/dev/zero"):
        await _refuses(box, path)
    try:
        await box.read("big", max_bytes=99)
    except ValueError as error:
        expect("larger" in str(error), "too large is said", str(error))
    else:
        expect(False, "a file over the bound is refused")
    for path in ("/etc/passwd", "/usr/bin/new", "README/below", "pipe", "folder"):
        try:
            await box.write(path, b"x")
        except ValueError:
            continue
        expect(False, f"writing {path} is refused")


async def _refuses(box: Sandbox, path: str) -> None:
    try:
        seen = await box.read(path)
    except ValueError:
        return
    expect(False, f"reading {path} is refused", seen[:20])


@check
async def collect_returns_the_difference(box: Sandbox) -> None:
    """New, changed, deleted files and modes; nothing that is unchanged."""
    await box.shell(
        "echo bye > README; mkdir -p n/m; echo x > n/m/f; chmod +x n/m/f; rm package/other.py;"
        " touch package/module.py; mkdir -p empty .git; echo > .git/x"
    )
    work = await box.collect()
    expect(
        work.changes
        == (
            Change("README", b"bye\n"),
            Change("n/m/f", b"x\n", executable=True),
            Change("package/other.py", None),
        ),
        "collect returns the difference",
        work,
    )
    expect(work.refused == (), "nothing else", work.refused)
    expect(await says(box, "cat README") == "bye", "the sandbox goes on")


@check
async def collect_sees_through_renames(box: Sandbox) -> None:
    """Folders renamed, replaced, and deleted as a whole."""
    await box.shell("mv package moved; mkdir package; echo new > package/module.py; rm README")
    await box.shell("mkdir README; echo in > README/file")
    seen = {change.path: change.data for change in (await box.collect()).changes}
    expect(
        seen
        == {
            "README": None,
            "README/file": b"in\n",
            "moved/module.py": b"VALUE = 1\n",
            "moved/other.py": b"VALUE = 2\n",
            "package/module.py": b"new\n",
            "package/other.py": None,
        },
        "renames are deletions and additions",
        seen,
    )


@check
async def collect_follows_nothing(box: Sandbox) -> None:
    """Links, pipes, sockets and unreadable files are named and never opened."""
    await box.shell(
        "ln -s /etc/passwd link; ln -s / root; ln -sf module.py package/other.py; mkfifo pipe;"
        " echo s > secret; chmod 000 secret; mkdir locked; echo x > locked/f; chmod 000 locked"
    )
    await python(box, "import socket; socket.socket(socket.AF_UNIX).bind('sock')")
    work = await box.collect()
    refused = {refusal.path: refusal.reason for refusal in work.refused}
    for path, reason in (("link", "symlink"), ("root", "symlink"), ("pipe", "fifo")):
        expect(refused.get(path) == reason, f"{path} is refused as {reason}", refused)
    expect(refused.get("sock") == "socket", "a socket is refused", refused)
    expect("unreadable" in refused.get("secret", ""), "so is what cannot be read", refused)
    expect("unreadable" in refused.get("locked", ""), "a folder too", refused)
    expect(refused.get("package/other.py") == "symlink", "a file made a link too", refused)


@check
async def collect_is_bounded(box: Sandbox) -> None:
    """Huge apparent sizes, depth and nested repositories are refused by name."""
    await box.shell("truncate -s 60M sparse; mkdir -p sub/.git; echo x > sub/.git/config")
    await box.shell("d=.; for i in $(seq 80); do d=$d/d; done; mkdir -p $d; echo x > $d/f")
    work = await box.collect()
    expect(Refusal("sparse", "too large") in work.refused, "sparse files are refused", work.refused)
    reasons = [refusal.reason for refusal in work.refused]
    expect("too deep" in reasons, "so is depth", reasons)
    expect("nested git folder" in reasons, "so is a nested repository", reasons)


@check
async def names_of_any_bytes_are_carried(box: Sandbox) -> None:
    """Names that are not UTF-8 or hold control characters come back as they are."""
    await box.shell(r"touch $'new\nline' $'\xff\xfe' -- '-dash'")
    paths = {change.path for change in (await box.collect()).changes}
    expect(paths == {"new\nline", "\udcff\udcfe", "-dash"}, "any name is carried", paths)


@check_backend
async def a_fork_is_independent(backend: Backend, spec: SandboxSpec) -> None:
    """Same files, directory and exports; each goes its own way; the first is undisturbed."""
    async with await backend.start(spec) as box:
        await box.shell("cd package; export A=1; rm other.py; echo 1 > ../n; echo t > /tmp/t")
        await box.shell("mkdir -p ../d/e; rm -r ../d; mkdir ../d; echo h > ~/h; sleep 300 &")
        async with await box.fork() as twin:
            seen = await says(twin, "pwd; echo $A; ls; cat ../n /tmp/t ~/h; ls ../d; jobs")
            expected = "/workspace/package\n1\nmodule.py\n1\nt\nh"
            expect(seen == expected, "a fork has the files and the state", seen)
            await twin.shell("echo 2 > ../n; export A=2")
            seen = await says(box, "cat ../n; echo $A; jobs | wc -l")
            expect(seen == "1\n1\n1", "the first is undisturbed, its processes too", seen)
        expect(await says(box, "cat ../n") == "1", "also when the fork ended")
        async with await box.fork() as twin:
            expect((await twin.collect()) == (await box.collect()), "both have the same difference")


@check_backend
async def a_workspace_is_never_written(backend: Backend, spec: SandboxSpec) -> None:
    """What one sandbox does is not seen by the next over the same layer."""
    async with await backend.start(spec) as box:
        await box.shell("rm -rf README package; echo x > new; chmod 777 .")
    async with await backend.start(spec) as box:
        seen = await says(box, "ls; cat README")
        expect(seen == "README\npackage\nhello", "the layer is as it was", seen)
        expect((await box.collect()).changes == (), "and a fresh one has no difference")


@check_backend
async def extra_files_are_laid_read_only(backend: Backend, spec: SandboxSpec) -> None:
    """``spec.files`` are there, and stay as they are."""
    path = "/opt/extra/deep/file.txt"
    files = {**spec.files, path: b"content"}
    laid = SandboxSpec(spec.image, spec.workspace, spec.limits, spec.env, files)
    async with await backend.start(laid) as box:
        expect(await box.read(path) == b"content", "a file is laid")
        result = await box.shell(f"echo x > {path}; rm {path}; mv /opt/extra /opt/other")
        expect(result.exit_code != 0, "and cannot be replaced", result)
        expect(await box.read(path) == b"content", "it is as it was")
