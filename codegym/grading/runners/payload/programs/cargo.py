"""Runs Rust's tests: cargo builds them, each test program lists its own, each has one process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .driving import Ended, Report, Request, Test, frame, main, run, said

_ENV = {
    "CARGO_INCREMENTAL": "0",
    "CARGO_NET_OFFLINE": "true",
    "CARGO_PROFILE_DEV_DEBUG": "0",
    "CARGO_PROFILE_TEST_DEBUG": "0",
    "CARGO_TERM_COLOR": "never",
    "RUST_BACKTRACE": "0",
    "RUST_TEST_THREADS": "1",
}
_BUILD = ["cargo", "test", "--no-run", "--offline", "--workspace", "--message-format=json"]
_PANIC = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at ", re.MULTILINE)

_OLD_PANIC = re.compile(r"'((?:.|\n)*)', (\S+:\d+:\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class _Program:
    """A test program: the file that it is of, where it lies, and the folder of its package."""

    path: str
    executable: str
    folder: str


def tool(report: Report) -> None:
    """Build everything, then run each test that is asked for."""
    request = report.request
    ended = run(_BUILD, request.root, _ENV)
    messages = list(_messages(ended.out))
    if ended.status != 0 or ended.overflowed:
        report.broken(".", _compile_error(ended, messages))
        return
    for program in _programs(request, messages):
        if request.wants_file(program.path):
            report.file(program.path, _tests(report, program))


def _messages(out: str) -> Iterator[dict[str, Any]]:
    for line in out.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


def _compile_error(ended: Ended, messages: list[dict[str, Any]]) -> str:
    """What rustc said of the first errors, else what cargo said."""
    found = (
        one.get("message") or {} for one in messages if one.get("reason") == "compiler-message"
    )
    errors = [str(one.get("rendered", "")) for one in found if one.get("level") == "error"]
    told = "\n".join(errors[:3]) or ended.tail
    return f"{told}\n" + said(f"the crate does not compile: {ended.how}")


def _programs(request: Request, messages: list[dict[str, Any]]) -> Iterator[_Program]:
    for one in messages:
        executable, profile = one.get("executable"), one.get("profile") or {}
        if one.get("reason") != "compiler-artifact" or not executable or not profile.get("test"):
            continue
        path = os.path.relpath(one["target"]["src_path"], request.root)
        yield _Program(path, executable, os.path.dirname(one["manifest_path"]))


def _tests(report: Report, program: _Program) -> Iterator[tuple[str, Test]]:
    names, ignored = _listed(program), set(_listed(program, "--ignored"))
    if not names:
        report.broken(program.path, said("the file lists no test"))
    for name in names:
        if not report.request.wants(f"{program.path}::{name}"):
            continue
        yield name, Test("skipped") if name in ignored else _run(report.request, program, name)


def _listed(program: _Program, *more: str) -> list[str]:
    ended = _start(program, "--list", "--format", "terse", *more)
    lines = ended.out.splitlines() if ended.status == 0 else ()
    return [one.removesuffix(": test") for one in lines if one.endswith(": test")]


def _start(program: _Program, *arguments: str) -> Ended:
    env = {**_ENV, "CARGO_MANIFEST_DIR": program.folder}
    return run([program.executable, *arguments], program.folder, env)


def _run(request: Request, program: _Program, name: str) -> Test:
    ended = _start(program, name, "--exact", "--test-threads=1", "--color=never")
    last = re.compile(
        rf"test {re.escape(name)}(?: - should panic)? \.\.\. (ok|FAILED)\n"
        r"(?:\nfailures:\n(?:.*\n)*)?"
        r"\ntest result: (ok|FAILED)\. (\d+) passed; (\d+) failed; 0 ignored; 0 measured; "
        r"\d+ filtered out; finished in [\d.]+s\n\n\Z"
    ).search(ended.out)
    if last is None:
        return Test("error", ended.seconds, _message(request, ended, "it did not tell its result"))
    passed = last.groups() == ("ok", "ok", "1", "0")
    failed = last.groups() == ("FAILED", "FAILED", "0", "1")
    if passed and ended.status == 0:
        return Test("passed", ended.seconds)
    if failed and ended.status == 101:
        return Test("failed", ended.seconds, _panic(request, ended))
    return Test("error", ended.seconds, _message(request, ended, "its result says otherwise"))


def _panic(request: Request, ended: Ended) -> str:
    """The first panic, from what the test printed."""
    text = ended.out.partition("\nfailures:\n")[2].partition("\n\nfailures:\n")[0]
    found = _PANIC.search(text)
    if found is None:
        return said(text.strip().partition("\n")[2] or "it failed")
    rest = text[found.end() :].partition("\nnote: ")[0].partition("\n\n")[0]
    if old := _OLD_PANIC.match(rest):  # Rust before 1.73 says what, and then where
        told, where = old[1], old[2]
    else:
        where, _, told = rest.partition(":\n")
    return f"{frame(request.root, where)}panicked\n{said(told)}"


def _message(request: Request, ended: Ended, problem: str) -> str:
    return f"{frame(request.root, ended.err)}in a test\n{ended.tail}\n" + said(
        f"{problem}, and {ended.how}"
    )


def start() -> None:
    """Run."""
    main(tool)
