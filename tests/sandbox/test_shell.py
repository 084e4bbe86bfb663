"""The gym's side of the shell's protocol."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from codegym.sandbox.shell import Clip, Shell


@given(st.lists(st.binary(max_size=50)), st.integers(0, 200))
def test_a_clip_keeps_head_and_tail_and_counts_the_rest(pieces, limit):
    clip = Clip(limit)
    for piece in pieces:
        clip.add(piece)
    whole = b"".join(pieces)
    kept, omitted = clip.value()
    if len(whole) <= limit:
        assert (kept, omitted) == (whole, 0)
    else:
        head, tail = whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :]
        assert omitted == len(whole) - limit
        assert kept == head + b"\n[... %d bytes omitted ...]\n" % omitted + tail


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1))
def test_a_clip_holds_no_more_than_its_limit_and_one_piece(pieces):
    clip = Clip(10)
    for piece in pieces:
        clip.add(piece)
    assert sum(map(len, clip._head)) + sum(map(len, clip._tail)) <= 10 + 50


class Unplugged(Shell):
    """A shell without an inside: what arrives is put in by hand."""

    async def _send_command(self, data):
        self.sent = data

    async def _send_input(self, data):
        raise NotImplementedError

    def _drain(self):
        pass

    def close(self):
        pass


def test_a_status_that_makes_no_sense_is_ignored():
    """The token is known inside: a command can write a status of its own before the true one."""

    async def run():
        shell = Unplugged()
        running = shell.run("S", "true", max_output_bytes=100, report_bytes=0)
        task = asyncio.ensure_future(running)
        await asyncio.sleep(0)
        token = shell.sent.split()[1]
        for odd in (b"x 0", token + b" -1", token + b" " + b"1" * 5000, token, b""):
            shell._on_status(odd + b"\0/tmp\0\0")
        await asyncio.sleep(0)
        assert not task.done()
        shell._on_status(token + b" 3\0/tmp\0\0")
        return await task

    status = asyncio.run(run())
    assert (status.exit_code, status.state.cwd) == (3, "/tmp")
