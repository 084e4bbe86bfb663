"""A shell whose descriptors are pipes of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from codegym.sandbox.shell import Shell, ShellEndedError

_READ_BYTES = 1 << 18


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


class PipeShell(Shell):
    """The gym's ends of one shell's pipes."""

    def __init__(self) -> None:
        super().__init__()
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

    async def _send_command(self, data: bytes) -> None:
        await self._send(self._command, data)

    async def _send_input(self, data: bytes) -> None:
        await self._send(self._input, data)

    def _drain(self) -> None:
        self._output_pipe.drain()
        self._report_pipe.drain()

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
