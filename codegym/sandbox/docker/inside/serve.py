"""The keeper: its requests. It ends when the gym's end of the stream closes.

A request is a message with ``id`` and ``op``; its reply has the same ``id`` and either ``error`` or
the answer. A message without ``id`` is an event.

    tree     keep the tree that comes on a channel                     -> {}
    drop     forget a tree                                             -> {}
    prepare  wipe a slot, and make its folders                         -> {"clean": bool}
    boot     be there for the first program of a slot's container      -> {"turn": n}
    blob     keep the file that comes on a channel                     -> {}
    lay      lay a tree and files into a slot                          -> {}
    start    let that program become a shell                           -> {}
    end      let a shell end by itself: close its pipes                -> {}
    collect  send a slot's differences from a tree on a channel        -> {}
    pack     send a slot's files on a channel                          -> {}
    unpack   write the files that come on a channel                    -> {}

Events: ``{"event": "booted", "slot": n, "turn": n}``: that program is there; ``"ended"``: none of
its container's processes is left; ``{"event": "connected", "slot": n, "channel": n}``: a
connection out.
"""

from __future__ import annotations

import array
import json
import os
import shutil
import socket
from collections.abc import Callable
from threading import Thread
from typing import BinaryIO, cast

from codegym.sandbox.docker.inside import archive
from codegym.sandbox.docker.inside.loop import Inflow, Loop, Outflow, Request
from codegym.sandbox.docker.inside.relay import Door, Session
from codegym.sandbox.docker.inside.slots import Slot
from codegym.sandbox.launcher import transfer

SLOTS, TREES = "/s", "/trees"
_LINK_SEC = 10.0


class Station:
    """One slot and what runs over it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.slot = Slot(f"{SLOTS}/{number}")
        self.turn = 0
        self.listener: socket.socket | None = None
        self.link: socket.socket | None = None
        self.session: Session | None = None
        self.door: Door | None = None

    def close(self) -> None:
        """Let go of a container that ended, or is to."""
        for part in (self.session, self.door, self.link):
            if part is not None:
                part.close()
        self.session = self.door = self.link = None

    def silence(self, loop: Loop) -> None:
        """Take the meeting place away: it is for one."""
        if self.listener is not None:
            loop.on_read(self.listener.fileno(), None)
            self.slot.silence(self.listener)
            self.listener = None


class Keeper:
    """Serves one gym process."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        numbers = sorted(int(name) for name in os.listdir(SLOTS))
        self._stations = [Station(number) for number in numbers]
        self._sizes: dict[str, int] = {}

    def on_message(self, request: Request) -> None:
        """Answer, now or later."""
        number = request.pop("id")
        try:
            getattr(self, f"_op_{request.pop('op')}")(number, **request)
        except (OSError, ValueError) as error:
            self._loop.tell(id=number, error=str(error))

    # -- files: in a thread each, as they take their time ------------------------------------------

    def _op_tree(self, number: int, tree: str, channel: int) -> None:
        inflow = Inflow(self._loop, channel)

        def work() -> None:
            folder = f"{TREES}/{tree}"
            draft = f"{folder}.part"
            shutil.rmtree(draft, ignore_errors=True)
            os.mkdir(draft, 0o700)
            self._sizes[tree] = archive.unpack(inflow.read, draft)
            os.rename(draft, folder)

        self._in_thread(number, work, channel)

    def _op_blob(self, number: int, blob: str, size: int, channel: int) -> None:
        inflow = Inflow(self._loop, channel)

        def work() -> None:
            data = inflow.read(size)
            with open(f"{TREES}/{blob}", "wb") as file:
                file.write(data)

        self._in_thread(number, work, channel)

    def _op_drop(self, number: int, tree: str) -> None:
        def work() -> None:
            if os.path.isdir(f"{TREES}/{tree}"):
                shutil.rmtree(f"{TREES}/{tree}")
            else:
                os.unlink(f"{TREES}/{tree}")

        self._in_thread(number, work)

    def _op_prepare(self, number: int, slot: int, extra: list[str]) -> None:
        station = self._stations[slot]
        station.close()
        self._in_thread(number, lambda: {"clean": station.slot.prepare(extra)})

    def _op_lay(
        self, number: int, slot: int, tree: str, files: dict[str, str], blobs: dict[str, str]
    ) -> None:
        station = self._stations[slot]

        def work() -> None:
            if tree:
                archive.copy(f"{TREES}/{tree}", station.slot.part("ws"))
            for path, content in files.items():
                station.slot.write(path, bytes.fromhex(content))
            for path, blob in blobs.items():
                with open(f"{TREES}/{blob}", "rb") as file:
                    station.slot.write(path, file.read())

        self._in_thread(number, work)

    def _op_collect(self, number: int, slot: int, tree: str, channel: int) -> None:
        outflow = Outflow(self._loop, channel)
        work = self._stations[slot].slot.part("ws")
        most = transfer.MAX_ENTRIES + self._sizes[tree]

        def read() -> None:
            reader = transfer.Reader(cast("BinaryIO", outflow), most)
            reader.run(work, work, f"{TREES}/{tree}")
            outflow.end()

        self._in_thread(number, read)

    def _op_pack(self, number: int, slot: int, channel: int) -> None:
        outflow = Outflow(self._loop, channel)

        def work() -> None:
            self._stations[slot].slot.pack(outflow.write)
            outflow.end()

        self._in_thread(number, work)

    def _op_unpack(self, number: int, slot: int, channel: int) -> None:
        inflow = Inflow(self._loop, channel)
        self._in_thread(number, lambda: self._stations[slot].slot.unpack(inflow.read), channel)

    def _in_thread(
        self, number: int, work: Callable[[], Request | None], channel: int | None = None
    ) -> None:
        def run() -> None:
            try:
                answer = work() or {}
            except (OSError, ValueError) as error:
                answer = {"error": str(error)}
            self._loop.soon(lambda: done(answer))

        def done(answer: Request) -> None:
            if channel is not None:
                self._loop.take(channel, None)
            self._loop.tell(id=number, **answer)

        Thread(target=run, daemon=True).start()

    # -- processes ---------------------------------------------------------------------------------

    def _op_boot(self, number: int, slot: int) -> None:
        station = self._stations[slot]
        station.close()
        station.silence(self._loop)
        station.turn += 1
        station.listener = station.slot.listen()
        self._loop.on_read(station.listener.fileno(), lambda: self._booted(station))
        self._loop.tell(id=number, turn=station.turn)

    def _booted(self, station: Station) -> None:
        if station.listener is None:
            return
        station.link, _ = station.listener.accept()
        station.link.settimeout(_LINK_SEC)
        station.silence(self._loop)
        _, (first,), _, _ = socket.recv_fds(station.link, 64, 1)
        turn = station.turn
        self._loop.on_read(first, lambda: self._ended(station, turn, first))
        self._loop.tell(event="booted", slot=station.number, turn=turn)

    def _ended(self, station: Station, turn: int, first: int) -> None:
        """The first process of a container is gone, so all of them are: the kernel saw to it."""
        self._loop.on_read(first, None)
        os.close(first)
        if station.session and station.turn == turn:
            station.session.flush()
        self._loop.tell(event="ended", slot=station.number, turn=turn)

    def _op_start(self, number: int, slot: int, channel: int, shell: Request) -> None:
        station = self._stations[slot]
        if station.link is None:
            raise OSError("no container is there")
        station.session = Session(self._loop, channel)
        rights = array.array("i", station.session.inside)
        station.link.sendmsg(
            [json.dumps(shell).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
        )
        station.session.open()
        if shell["port"]:
            _, (listener,), _, _ = socket.recv_fds(station.link, 64, 1)
            station.door = Door(self._loop, socket.socket(fileno=listener), slot)
        station.link.close()
        station.link = None
        self._loop.tell(id=number)

    def _op_end(self, number: int, slot: int) -> None:
        self._stations[slot].close()
        self._loop.tell(id=number)


def main() -> None:
    """The keeper's program."""
    loop = Loop()
    keeper = Keeper(loop)
    loop.tell(event="ready")
    loop.run(keeper.on_message)
    os._exit(0)
