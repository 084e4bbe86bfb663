"""The persistent shell's protocol, on the gym's side.

Commands, status, output, ``exec``'s input and reports each have a descriptor of their own, so
nothing that a command prints can be taken for the end of a command. Each command carries a random
token that its status must repeat. Code inside that finds the shell's status descriptor can confuse
its own shell, no more: what makes no sense is ignored, and no status decides a reward.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from codegym.types import ShellState

#: Descriptors inside: commands, status, ``exec``'s input. (``REPORT_FD`` is the next one, 6.)
COMMAND_FD, STATUS_FD, INPUT_FD = 3, 4, 5

_MAX_STATUS_BYTES = 1 << 20
_READ_BYTES = 1 << 18

#: The loop that is the first process inside. ``S`` runs in this shell; ``E`` is an ``exec``, which
#: has the input and report descriptors. The lengths are read first, so a command may hold anything.
LOOP = r"""
ulimit -c 0 -u {processes} -f {file_kb} -d {data_kb} || exit 70
ulimit -n {open_files} 2>/dev/null
exec 7>&1
while IFS=' ' read -r -u 3 __mode __token __size; do
  LC_ALL=C IFS= read -r -N "$__size" -u 3 __command
  [ $__mode = E -o /proc/$$/fd/1 -ef /proc/$$/fd/7 -a /proc/$$/fd/2 -ef /proc/$$/fd/7 ] || {{
    exec 1>&7 2>&7  # an `exec` took them away, and nothing would ever be seen again
    echo '[an earlier exec redirected or closed the output of this shell; that was undone]'
  }}
  case $__mode in
    S) eval "$__command" 3<&- 4>&- 5<&- 6>&- 7>&- ;;
    E) eval "$__command" 3<&- 4>&- 1>&7 2>&7 7>&- ;;
    *) exit 71 ;;  # somebody inside wrote into the command pipe: start anew
  esac
  printf '%s %s\0%s\0' "$__token" "$?" "$PWD" >&4
  {{ export -p; printf '\0'; }} >&4
done
"""


@dataclass(frozen=True, slots=True)
class Status:
    """How a command ended, as the shell says."""

    exit_code: int
    state: ShellState


class ShellEndedError(Exception):
    """The shell closed its status descriptor: it exited, or was killed."""


class Clip:
    """Keeps the head and the tail of a stream within a bound, and counts the rest."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.omitted = 0

    def add(self, data: bytes) -> None:
        """Add a piece."""
        if self._head_room:
            self._head.append(data[: self._head_room])
            data = data[self._head_room :]
            self._head_room -= len(self._head[-1])
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            dropped = len(self._tail.popleft())
            self._tail_size -= dropped
            self.omitted += dropped

    def value(self) -> tuple[bytes, int]:
        """The kept bytes, a line in the middle saying what was cut, and the count of cut bytes."""
        tail = b"".join(self._tail)
        cut = max(0, len(tail) - self._tail_room)
        omitted = self.omitted + cut
        middle = b"\n[... %d bytes omitted ...]\n" % omitted if omitted else b""
        return b"".join(self._head) + middle + tail[cut:], omitted


class Pipe:
    """The reading end of a pipe: hands every piece to ``sink``; ``on_end`` once at its end."""

    def __init__(
        self, sink: Callable[[bytes], None], on_end: Callable[[], None] = lambda: None
    ) -> None:
        self._read, self.write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.write_end, True)
        self._sink, self._on_end = sink, on_end
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read, self.drain)

    def drain(self) -> None:
        """Take what is there now."""
        while self._read >= 0:
            try:
                data = os.read(self._read, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.close()
                self._on_end()
                return
            self._sink(data)
            if len(data) < _READ_BYTES:
                return

    def close_write_end(self) -> None:
        """Close our copy of the writing end, once the launcher has its own."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Stop reading. Idempotent."""
        self.close_write_end()
        if self._read >= 0:
            self._loop.remove_reader(self._read)
            os.close(self._read)
            self._read = -1


class Shell:
    """The gym's ends of one shell's descriptors; one command at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._status_bytes = b""
        self._token = ""
        self._waiting: asyncio.Future[Status] | None = None
        self._ended = False
        self._output = Clip(4096)
        self._reports: list[bytes] = []
        self._report_room = 0
        self._output_pipe = Pipe(self._on_output)
        self._status_pipe = Pipe(self._on_status, self._on_end)
        self._report_pipe = Pipe(self._on_report)
        command, self._command = os.pipe2(os.O_CLOEXEC)
        given, self._input = os.pipe2(os.O_CLOEXEC)
        for descriptor in (self._command, self._input):
            os.set_blocking(descriptor, False)
        self._inside = [command, given]

    @property
    def descriptors(self) -> list[int]:
        """The ends for the inside, in the launcher's order."""
        command, given = self._inside
        return [
            self._output_pipe.write_end,
            command,
            self._status_pipe.write_end,
            given,
            self._report_pipe.write_end,
        ]

    def close_inside(self) -> None:
        """Close our copies of the inside's ends."""
        for descriptor in self._inside:
            os.close(descriptor)
        self._inside = []
        for pipe in (self._output_pipe, self._status_pipe, self._report_pipe):
            pipe.close_write_end()

    async def run(
        self,
        mode: str,
        command: str,
        *,
        stdin: bytes = b"",
        max_output_bytes: int,
        report_bytes: int,
    ) -> Status:
        """Send a command and wait for its status.

        Raises:
            ShellEndedError: The shell ended, before or during the command.
        """
        if self._ended:
            raise ShellEndedError
        background = self._output.value()[0]  # printed since the last command
        self._output = Clip(max_output_bytes)
        self._output.add(background)
        self._reports, self._report_room = [], report_bytes
        self._token = secrets.token_hex(8)
        self._waiting = self._loop.create_future()
        data = command.encode("utf-8", "surrogateescape").replace(b"\0", b"")
        await self._send(self._command, f"{mode} {self._token} {len(data)}\n".encode() + data)
        feeding = asyncio.ensure_future(self._send(self._input, stdin)) if stdin else None
        try:
            return await self._waiting
        finally:
            self._waiting = None
            if feeding:
                feeding.cancel()

    def output(self) -> tuple[bytes, int]:
        """What the last command printed, cut in the middle, and how much was cut."""
        self._output_pipe.drain()
        result = self._output.value()
        self._output = Clip(len(result[0]) + 4096)  # room for what a background process prints next
        return result

    def report(self) -> bytes:
        """What the last ``exec`` reported."""
        self._report_pipe.drain()
        return b"".join(self._reports)

    def close(self) -> None:
        """Close every descriptor. Idempotent."""
        for pipe in (self._output_pipe, self._status_pipe, self._report_pipe):
            pipe.close()
        for descriptor in (*self._inside, self._command, self._input):
            if descriptor >= 0:
                self._loop.remove_writer(descriptor)
                os.close(descriptor)
        self._inside, self._command, self._input = [], -1, -1
        self._on_end()

    async def _send(self, descriptor: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                ready: asyncio.Future[None] = self._loop.create_future()
                self._loop.add_writer(descriptor, ready.set_result, None)
                try:
                    await ready
                finally:
                    self._loop.remove_writer(descriptor)
            except OSError as error:
                raise ShellEndedError from error

    def _on_output(self, data: bytes) -> None:
        self._output.add(data)

    def _on_report(self, data: bytes) -> None:
        self._reports.append(data[: self._report_room])
        self._report_room -= len(self._reports[-1])

    def _on_status(self, data: bytes) -> None:
        self._status_bytes += data
        while self._status_bytes.count(b"\0") >= 3:
            head, cwd, exports, self._status_bytes = self._status_bytes.split(b"\0", 3)
            self._settle(head, cwd, exports)
        if len(self._status_bytes) > _MAX_STATUS_BYTES:
            self._on_end()

    def _settle(self, head: bytes, cwd: bytes, exports: bytes) -> None:
        token, _, code = head.partition(b" ")
        if token.decode("latin-1") != self._token or not code.isdigit():
            return  # not an answer to what was asked: somebody inside wrote it
        if self._waiting and not self._waiting.done():
            state = ShellState(
                cwd.decode("utf-8", "surrogateescape"), exports.decode("utf-8", "surrogateescape")
            )
            self._waiting.set_result(Status(int(code) & 0xFF, state))

    def _on_end(self) -> None:
        self._ended = True
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(ShellEndedError())
