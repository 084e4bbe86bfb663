"""Isolation: no network, no host, no privileges, no names. Probes open and never write."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace
from pathlib import Path

from codegym.sandbox.base import Backend, Sandbox
from codegym.sandbox.conformance.check import check, check_backend, expect, python, says, text
from codegym.types import SandboxSpec


@check
async def there_is_no_network(box: Sandbox) -> None:
    """Loopback only, no route, no resolver, no other family of sockets."""
    seen = await says(box, "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '")
    expect(seen == "lo", "loopback is the only interface", seen)
    code = """
import socket
places = ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80)))
for family, address in places:
    try:
        socket.socket(family).connect(address); print("connected")
    except OSError: pass
for family in (40, 17, 38, 29, 31, 16 + 100):
    try:
        socket.socket(family, socket.SOCK_DGRAM); print("socket", family)
    except OSError: pass
try:
    socket.getaddrinfo("example.invalid", 80); print("resolved")
except OSError: pass
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()); print("loopback")
"""
    seen = text(await python(box, code))
    expect(seen == "loopback", "nothing but loopback answers", seen)


@check_backend
async def sandboxes_do_not_see_each_other(backend: Backend, spec: SandboxSpec) -> None:
    """Loopback, processes, abstract sockets, shared memory and files are each one's own."""
    async with await backend.start(spec) as first, await backend.start(spec) as second:
        serve = (
            "import socket,time; s=socket.create_server(('127.0.0.1', 4567));"
            "u=socket.socket(socket.AF_UNIX); u.bind('\\0abstract'); u.listen(); time.sleep(60)"
        )
        await first.shell(f'{first.spec.image.python} -c "{serve}" & echo x > /tmp/t; sleep 0.5')
        await first.shell("echo x > /dev/shm/m")
        code = """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", 4567)), (socket.AF_UNIX, "\\0abstract")):
    try:
        socket.socket(family).connect(address); print("connected", address)
    except OSError: pass
"""
        seen = text(await python(second, code)) + await says(second, "ls /tmp /dev/shm | grep -v :")
        expect(seen == "", "another sandbox is not there", seen)
        seen = await says(second, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[4]567'")
        expect(seen == "0", "nor are its processes", seen)


@check
async def there_are_no_privileges(box: Sandbox) -> None:
    """An ordinary user, no capabilities, none to be had."""
    seen = await says(box, "id -u; id -G; grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    lines = seen.split()
    expect(lines[:2] == ["1000", "1000"], "uid and gid are 1000", lines[:2])
    values = dict(zip(lines[2::2], lines[3::2], strict=False))
    for name in ("CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"):
        expect(int(values[name], 16) == 0, f"{name} is empty", values[name])
    expect(values["NoNewPrivs:"] == "1", "no new privileges", values)
    expect(values["Seccomp:"] == "2", "a seccomp filter is on", values)


@check
async def system_calls_are_filtered(box: Sandbox) -> None:
    """New namespaces, mounts, keys, BPF, other processes' memory: each answers EPERM."""
    code = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if platform.machine() == "x86_64" else 1
calls = {"unshare": (272, 97), "mount": (165, 40), "keyctl": (250, 219), "bpf": (321, 280),
         "ptrace": (101, 117), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
         "io_uring_setup": (425, 425), "setns": (308, 268), "process_vm_readv": (310, 270)}
for name, numbers in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(numbers[column], 0x10000000, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
        print(name, ctypes.get_errno())
CLONE_NEWUSER = 0x10000000
if libc.syscall((56, 220)[column], CLONE_NEWUSER | 17, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
    print("clone")
ctypes.set_errno(0)
if libc.syscall(435, 0, 0) != -1 or ctypes.get_errno() != 38: print("clone3", ctypes.get_errno())
import fcntl, termios
try: fcntl.ioctl(0, termios.TIOCSTI, b"x")
except OSError as error:
    if error.errno != 1: print("TIOCSTI", error)
"""
    seen = text(await python(box, code))
    expect(seen == "", "each filtered call answers EPERM", seen)


@check
async def host_settings_cannot_be_opened_for_writing(box: Sandbox) -> None:
    """Kernel settings and devices refuse to open; nothing is written."""
    code = """
import os
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger",
             "/proc/sys/vm/drop_caches", "/proc/1/oom_score_adj.x", "/dev/mem", "/dev/kmsg",
             "/dev/vda", "/dev/sda", "/dev/kvm", "/dev/fuse", "/sys/kernel/uevent_helper"):
    try: os.close(os.open(path, os.O_WRONLY)); print(path)
    except OSError: pass
"""
    seen = text(await python(box, code))
    expect(seen == "", "none opens", seen)


@check
async def the_root_is_read_only(box: Sandbox) -> None:
    """Only the workspace, ``/tmp``, ``/dev/shm`` and the home folder can be written."""
    seen = await says(
        box,
        "for d in / /usr /usr/bin /etc /opt /opt/venv /dev /proc /home /run /var; do"
        " touch $d/.probe 2>/dev/null && echo $d; done;"
        " for d in /workspace /tmp /dev/shm ~; do"
        " touch $d/.probe && rm $d/.probe || echo no $d; done",
    )
    expect(seen == "", "the root is read-only", seen)


@check
async def there_is_no_setuid_file(box: Sandbox) -> None:
    """None is there, and one that is made gives nothing."""
    seen = await says(box, "find / -xdev -perm /6000 -type f 2>/dev/null | head")
    expect(seen == "", "no setuid file", seen)
    seen = await says(box, "cp /usr/bin/id s; chmod u+s s; ./s -u")
    expect(seen == "1000", "a new one gives nothing", seen)


@check_backend
async def only_declared_variables_are_there(backend: Backend, spec: SandboxSpec) -> None:
    """No variable of the host or the gym process is in any process's environment."""
    os.environ["CODEGYM_CONFORMANCE_CANARY"] = "canary-5f1e"
    try:
        async with await backend.start(replace(spec, env={**spec.env, "OWN": "1"})) as box:
            seen = await says(box, "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; env; echo $OWN")
    finally:
        del os.environ["CODEGYM_CONFORMANCE_CANARY"]
    expect("canary" not in seen, "the host's variables are not there", seen)
    expect(seen.endswith("1"), "declared ones are", seen)
    names = {line.partition("=")[0] for line in seen.splitlines()[:-1]}
    own = {"PWD", "OLDPWD", "SHLVL", "_", "OWN", *spec.image.env, *spec.env}
    expect(names <= own, "nothing else is", names - own)


@check
async def only_the_shells_descriptors_are_open(box: Sandbox) -> None:
    """Commands get input, output, error; no descriptor leads out of the sandbox."""
    for files, allowed, promise in (
        (
            "cd /proc/self/fd; for f in *",
            {"/dev/null", "pipe", "/proc/1/fd"},
            "a command has three",
        ),
        ("for f in /proc/1/fd/*", {"/dev/null", "pipe"}, "the shell has pipes only"),
    ):
        seen = await says(box, f"{files}; do readlink $f; done")
        expect({line.split(":")[0] for line in seen.splitlines()} <= allowed, promise, seen)


@check
async def names_are_neutral(box: Sandbox) -> None:
    """No path, user or host name of the machine shows in mounts, labels or process lists."""
    seen = await says(
        box,
        "cat /proc/self/mountinfo /proc/self/cgroup /proc/[0-9]*/cmdline /etc/passwd /etc/hosts"
        " /proc/sys/kernel/hostname; env; cat /proc/[0-9]*/maps",
    )
    home = str(Path.home())
    for name in ("codegym", os.uname().nodename, str(box.spec.workspace.parent), f"{home}/.cache"):
        expect(len(name) < 4 or name not in seen, f"{name!r} is not shown", seen[:3000])
    user = getpass.getuser()
    expect(user in ("root", "agent", "nobody") or f"{user}:" not in seen, "nor is the user", user)


@check
async def the_hosts_files_are_not_there(box: Sandbox) -> None:
    """The gym's own package, caches, homes and services are not below the root."""
    seen = await says(
        box,
        "find / -xdev \\( -name 'codegym*' -o -name '*.fast-export' -o -name '*.jsonl'"
        " -o -name ensurepip -o -name pip -o -name setuptools -o -name dist-packages \\)"
        " 2>/dev/null | head; ls /root /home /var/lib /srv /mnt /media /boot 2>/dev/null"
        " | grep -v -e : -e '^agent$' -e '^$'",
    )
    expect(seen == "", "nothing of the host is there", seen)


@check
async def outer_layers_are_out_of_reach(box: Sandbox) -> None:
    """No process, root link or mount path leads outside."""
    seen = await says(
        box,
        "ls -d /oldroot /newroot /c /b /l /w 2>/dev/null;"
        " for p in /proc/[0-9]*; do ls $p/root/ | grep -x -e oldroot -e newroot; done;"
        " cat /proc/1/comm",
    )
    expect(seen == "bash", "the first process is the shell, and its root the sandbox's", seen)


@check
async def metadata_tell_nothing(box: Sandbox) -> None:
    """All files of a layer have been written together: no time and no number singles one out."""
    seen = await says(box, "stat -c '%u:%g %h' README package/*.py | sort -u")
    expect(seen == "1000:1000 1", "owner and link count are the same for all", seen)
