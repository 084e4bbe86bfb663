"""The wire between a client and a server: what is said arrives, and nothing else is believed."""

import asyncio
import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.sandbox.remote import messages, wire
from codegym.sandbox.remote.channels import Channel
from codegym.sandbox.remote.codec import decode, encode
from codegym.sandbox.remote.wire import Frame, Kind, Messages, WireError
from codegym.types import Capabilities, Change, CommandResult, Limits, Manifest, Refusal, ShellState

KINDS = {**messages.REQUESTS, **messages.REPLIES}

texts = st.text(st.one_of(st.characters(), st.integers(0xDC80, 0xDCFF).map(chr)), max_size=20)
states = st.builds(ShellState, texts, texts)
numbers = st.integers(0, 1 << 40)
results = st.builds(
    CommandResult, numbers, st.binary(), numbers, st.floats(0, 1e6), st.booleans(), texts,
    st.binary(),
)  # fmt: skip
changes = st.builds(Change, texts, st.one_of(st.none(), st.binary()), st.booleans())
some = st.one_of(
    st.builds(messages.Ran, results, st.one_of(st.none(), states)),
    st.builds(
        messages.Work,
        st.builds(
            Manifest,
            st.lists(changes).map(tuple),
            st.lists(st.builds(Refusal, texts, texts)).map(tuple),
        ),
    ),
    st.builds(
        messages.Start, numbers, st.just(("a", "b")), texts, texts, st.dictionaries(texts, texts),
        texts, st.builds(Limits), st.just({}), st.dictionaries(texts, st.binary()),
        st.just({"/x": "0"}), st.lists(st.binary()).map(tuple), texts, states, numbers,
    ),
    st.builds(messages.Welcome, st.builds(Capabilities, texts, st.just(frozenset({"a"})),
                                          st.just(frozenset()), st.booleans(), st.just(("n",)))),
    st.builds(messages.Failed, texts, texts),
)  # fmt: skip


@settings(max_examples=40)
@given(some)
def test_a_message_arrives_as_it_was(message):
    assert decode(encode(message), KINDS) == message


@given(st.binary())
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(WireError):
        decode(data, KINDS)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), texts),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


@given(st.sampled_from(sorted(KINDS)), json_values, json_values)
def test_fields_of_other_types_are_refused(name, fields, lengths):
    header = json.dumps([name, fields, lengths]).encode()
    try:
        made = decode(struct.pack(">I", len(header)) + header, KINDS)
    except WireError:
        return
    assert decode(encode(made), KINDS) == made  # it was one after all
    assert type(made) is KINDS[name]


def test_what_is_nested_without_end_is_refused():
    header = b"[" * 200_000
    with pytest.raises(WireError):
        decode(struct.pack(">I", len(header)) + header, KINDS)


@pytest.fixture
async def ends():
    """Both ends of a connection that is past the handshake."""
    accepted = asyncio.get_running_loop().create_future()

    async def serve(reader, writer):
        accepted.set_result((wire.Wire(reader, writer), writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        other, theirs = await accepted
        yield wire.Wire(reader, writer), other
        writer.close()
        theirs.close()


async def test_a_large_message_lets_small_ones_through(ends):
    near, far = ends
    said = {1: bytes(8_000_000), 2: b"a" * 10, 3: b"b" * 200_000}
    sending = asyncio.gather(*(near.send_message(number, said[number]) for number in said))
    incoming, heard = Messages(), {}
    while len(heard) < len(said):
        frame = await far.receive()
        whole = incoming.add(frame)
        if whole is not None:
            heard[frame.number] = whole
    await sending
    assert heard == said
    assert list(heard) == [2, 3, 1]


def test_a_message_that_was_given_up_takes_no_room(monkeypatch):
    monkeypatch.setattr(wire, "MAX_MESSAGE", 100)
    incoming = Messages()
    for number in range(50):
        assert incoming.add(Frame(Kind.PART, number, b"x" * 60)) is None
        incoming.drop(number)
    assert incoming.add(Frame(Kind.END, 99, b"x" * 100)) == b"x" * 100
    with pytest.raises(WireError, match="too large"):
        incoming.add(Frame(Kind.PART, 100, b"x" * 101))


async def test_a_channel_that_is_flooded_ends_the_connection(ends):
    channel = Channel(ends[0], 1)
    for _ in range(4):
        channel.take(Frame(Kind.DATA, 1, bytes(wire.PIECE)))
    with pytest.raises(WireError, match="flooded"):
        channel.take(Frame(Kind.DATA, 1, b"x"))


async def test_a_channel_waits_for_who_does_not_read(ends):
    near, far = ends
    reader = asyncio.StreamReader()
    sent = 0

    async def feed():
        nonlocal sent
        while True:
            reader.feed_data(bytes(wire.PIECE))
            sent += wire.PIECE
            await asyncio.sleep(0)

    feeding = asyncio.ensure_future(feed())
    carrying = asyncio.ensure_future(Channel(near, 1)._outward(reader))
    for _ in range(4):
        assert len((await far.receive()).data) == wire.PIECE
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(far.receive(), 0.3)
    assert sent > 4 * wire.PIECE
    for task in (feeding, carrying):
        task.cancel()
    await asyncio.gather(feeding, carrying, return_exceptions=True)
