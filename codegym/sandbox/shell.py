"""The persistent shell's protocol, on the gym's side.

Commands, status, output, ``exec``'s input and reports each have a descriptor of their own, so
nothing that a command prints can be taken for the end of a command. Each command carries a random
token that its status must repeat. Code inside that finds the shell's status descriptor can confuse
its own shell, no more: what makes no sense is ignored, and no status decides a reward.
"""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass

from codegym.types import ShellState

#: Descriptors inside: commands, status, ``exec``'s input. (``REPORT_FD`` is the next one, 6.)
COMMAND_FD, STATUS_FD, INPUT_FD = 3, 4, 5

_MAX_STATUS_BYTES = 1 << 20

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


class Shell(ABC):
    """The gym's side of one shell; one command at a time. Subclasses carry the bytes.

    A subclass hands what arrives to ``_on_output``, ``_on_report``, ``_on_status`` and ``_on_end``,
    so that what was printed before a status is there when the status is.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._status_bytes = b""
        self._token = ""
        self._waiting: asyncio.Future[Status] | None = None
        self._ended = False
        self._output = Clip(4096)
        self._reports: list[bytes] = []
        self._report_room = 0

    @abstractmethod
    async def _send_command(self, data: bytes) -> None:
        """Send to the shell. Raises ``ShellEndedError``."""

    @abstractmethod
    async def _send_input(self, data: bytes) -> None:
        """Send what the program that runs next has as its input. Raises ``ShellEndedError``."""

    @abstractmethod
    def _drain(self) -> None:
        """Take what has been printed and reported until now."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the shell. Idempotent."""

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
        await self._send_command(f"{mode} {self._token} {len(data)}\n".encode() + data)
        feeding = asyncio.ensure_future(self._send_input(stdin)) if stdin else None
        try:
            return await self._waiting
        finally:
            self._waiting = None
            if feeding:
                feeding.cancel()

    def output(self) -> tuple[bytes, int]:
        """What the last command printed, cut in the middle, and how much was cut."""
        self._drain()
        result = self._output.value()
        self._output = Clip(len(result[0]) + 4096)  # room for what a background process prints next
        return result

    def report(self) -> bytes:
        """What the last ``exec`` reported."""
        self._drain()
        return b"".join(self._reports)

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
        if token.decode("latin-1") != self._token or not (code.isdigit() and len(code) <= 3):
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
