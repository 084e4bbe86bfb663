"""Runs Rust's tests: cargo builds them, each test program lists its own, each has one process."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .driving import Ended, Limit, Report, Request, Test, frame, main, run, said

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
_END = re.compile(r"\ntest result: (?:ok|FAILED)\. .*; finished in [\d.]+s\n\n\Z")
_PANIC = re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at ", re.MULTILINE)

_OLD_PANIC = re.compile(r"'((?:.|\n)*)', (\S+:\d+:\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A test program: the file that it is of, where it lies, and the folder of its package."""

    path: str
    executable: str
    folder: str


def tool(report: Report) -> None:
    """Build everything, then run each test that is asked for."""
    ended, messages = build(report.request)
    if ended.status != 0 or ended.overflowed:
        report.broken(".", _compile_error(ended, messages))
        return
    for program in programs_of(report.request, messages):
        if report.request.wants_file(program.path):
            report.file(program.path, _tests(report, program))


def build(
    request: Request, env: Mapping[str, str] | None = None
) -> tuple[Ended, list[dict[str, Any]]]:
    """Build all test programs: how that ended, and cargo's messages."""
    ended = run(_BUILD, request.root, {**_ENV, **(env or {})})
    return ended, list(_messages(ended.out))


def _messages(out: str) -> Iterator[dict[str, Any]]:
    for line in out.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


def errors_of(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What rustc said of errors."""
    for one in messages:
        told = one.get("message")
        if one.get("reason") != "compiler-message" or not isinstance(told, dict):
            continue
        if told.get("level") == "error":
            yield told


def _compile_error(ended: Ended, messages: list[dict[str, Any]]) -> str:
    """What rustc said of the first errors, else what cargo said."""
    errors = [str(one.get("rendered", "")) for one in errors_of(messages)]
    told = "\n".join(errors[:3]) or ended.tail
    return f"{told}\n" + said(f"the crate does not compile: {ended.how}")


def programs_of(request: Request, messages: list[dict[str, Any]]) -> Iterator[Program]:
    """The test programs that were built."""
    for one in messages:
        executable, profile = one.get("executable"), one.get("profile") or {}
        if one.get("reason") != "compiler-artifact" or not executable or not profile.get("test"):
            continue
        path = os.path.relpath(one["target"]["src_path"], request.root)
        yield Program(path, executable, os.path.dirname(one["manifest_path"]))


def _tests(report: Report, program: Program) -> Iterator[tuple[str, Test]]:
    names, ignored = listed(program), set(listed(program, "--ignored"))
    if not names:
        report.broken(program.path, said("the file lists no test"))
    for name in names:
        if not report.request.wants(f"{program.path}::{name}"):
            continue
        yield name, Test("skipped") if name in ignored else _run(report.request, program, name)


def listed(program: Program, *more: str) -> list[str]:
    """Names of a program's tests."""
    ended = _start(program, "--list", "--format", "terse", *more)
    lines = ended.out.splitlines() if ended.status == 0 else ()
    return [one.removesuffix(": test") for one in lines if one.endswith(": test")]


def _start(
    program: Program,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    limit: Limit | None = None,
) -> Ended:
    env = {**_ENV, "CARGO_MANIFEST_DIR": program.folder, **(env or {})}
    return run([program.executable, *arguments], program.folder, env, (), limit)


def run_tests(
    program: Program, names: list[str], env: Mapping[str, str], limit: Limit | None
) -> tuple[list[tuple[str, Test]], Ended, str]:
    """Run some tests in one process: what became of them, and why it does not count, or ``""``."""
    more = ("--exact", "--test-threads=1", "--color=never")
    ended = _start(program, *names, *more, env=env, limit=limit)
    found = re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)$", ended.out, re.M)
    if ended.status not in (0, 101) or _END.search(ended.out) is None:
        return [], ended, f"it did not tell its result: {ended.how}"
    outcomes = {"ok": "passed", "FAILED": "failed"}
    return [(name, Test(outcomes[how])) for name, how in found], ended, ""


def _run(request: Request, program: Program, name: str) -> Test:
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
