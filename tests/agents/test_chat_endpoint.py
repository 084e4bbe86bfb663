"""An endpoint that misbehaves in every way it can, over real HTTP."""

import asyncio
import json
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.agents.chat import endpoint as module
from codegym.agents.chat.endpoint import GIVE_UP_AFTER, Endpoint, RefusedError, checked_url
from codegym.agents.chat.refusals import MAX_WAIT_SEC, message_of, wait_of
from codegym.agents.chat.replies import read_reply
from codegym.errors import PolicyError, UnavailableError, UsageError

REQUEST = {"model": "m", "messages": []}


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(module, "_BASE_DELAY_SEC", 0.001)


@pytest.fixture
async def endpoint(server):
    made = Endpoint(server.url, "sk-secret", "MY_KEY", 5.0, 3, 4)
    yield made
    await made.aclose()


async def test_an_answer_is_had_and_the_key_is_sent(server, endpoint, answers):
    server.script = [answers.text("hello")]
    answer = await endpoint.complete(REQUEST, read_reply)
    assert answer.value.action == "hello"
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    assert server.paths == ["/v1/chat/completions"]
    assert "sk-secret" not in repr(endpoint)


async def test_without_a_key_none_is_sent(server, answers):
    server.script = [answers.text("hello")]
    endpoint = Endpoint(server.url, "", "MY_KEY", 5.0, 0, 1)
    await endpoint.complete(REQUEST, read_reply)
    await endpoint.aclose()
    assert "authorization" not in {name.lower() for name in server.headers[0]}


@pytest.mark.parametrize(
    "passing",
    [
        lambda answers: answers.error(500, "oops"),
        lambda answers: answers.error(503, "overloaded"),
        lambda answers: answers.error(429, "slow down", Retry_After=0),
        lambda answers: answers.error(408, "late"),
        lambda answers: (502, {}, b"<html>bad gateway</html>"),
        lambda answers: (200, {}, b"<html>a login page</html>"),
        lambda answers: (200, {}, b""),
        lambda answers: (200, {}, b"[" * 100_000),
        lambda answers: (200, {}, b'{"choices": []}'),
        lambda answers: (200, {}, b'{"choices": [{"message": "text"}]}'),
        lambda answers: (200, {}, b'"choices"'),
        lambda answers: (200, {"content-encoding": "gzip"}, b"this is no gzip"),
        lambda answers: "drop",
        lambda answers: "cut",
    ],
)
async def test_what_may_pass_is_tried_again(server, endpoint, answers, passing):
    bad = passing(answers)
    server.script = [bad, bad, answers.text("at last")]
    assert (await endpoint.complete(REQUEST, read_reply)).value.action == "at last"
    assert len(server.requests) == 3


async def test_an_answer_that_does_not_come_is_a_failure_told_by_its_time(server, answers):
    server.script = ["slow"]
    endpoint = Endpoint(server.url, "", "MY_KEY", 0.1, 1, 1)
    with pytest.raises(PolicyError, match=r"tried 2 times: no answer in 0\.1 s"):
        await endpoint.complete(REQUEST, read_reply)
    await endpoint.aclose()


async def test_the_wait_that_is_asked_for_is_kept(server, endpoint, answers):
    server.script = [answers.error(429, "wait", Retry_After="0.3"), answers.text("ok")]
    answer = await endpoint.complete(REQUEST, read_reply)
    assert server.times[1] - server.times[0] >= 0.3
    assert answer.lost_sec >= 0.3, "it is not the policy's time"


async def test_a_long_wait_is_told(server, endpoint, answers, caplog):
    server.script = [answers.error(429, "wait", Retry_After="1000")]
    asking = asyncio.ensure_future(endpoint.complete(REQUEST, read_reply))
    while not caplog.messages:  # noqa: ASYNC110 - a log has no event
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert caplog.messages == [f"{server.url} asks to wait 300 s (status 429)"]


def test_waits_are_read_in_both_forms_and_bounded():
    assert wait_of({"retry-after": "2"}) == 2
    assert 50 < wait_of({"retry-after": formatdate(time.time() + 60, usegmt=True)}) <= 61
    assert wait_of({"retry-after": "-5"}) == 0
    assert wait_of({"retry-after": "1e9"}) == MAX_WAIT_SEC
    assert wait_of({"retry-after": "inf"}) == MAX_WAIT_SEC
    assert wait_of({}) is None


@given(st.text())
def test_no_wait_that_is_asked_for_is_out_of_bounds(value):
    wait = wait_of({"retry-after": value})
    assert wait is None or 0 <= wait <= MAX_WAIT_SEC


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (401, "bad key sk-secret", r"status 401: bad key \[key\].*set MY_KEY"),
        (403, "no", "refused.*api_key_env=NAME"),
        (404, "model m not found", "no such model.*after chat:.*/v1"),
        (404, "", "no such model"),
    ],
)
async def test_what_will_not_pass_is_told_at_once(server, endpoint, answers, status, said, told):
    server.script = [answers.error(status, said)]
    with pytest.raises(UsageError, match=told) as caught:
        await endpoint.complete(REQUEST, read_reply)
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "said", "meaning"),
    [
        (400, "This model's maximum context length is 10 tokens", "too_long"),
        (413, "prompt is too long: 5 > 3", "too_long"),
        (500, "the request exceeds the available context size", "too_long"),
        (400, "m does not support tools", "no_tools"),
        (404, "No endpoints found that support tool use", "no_tools"),
        (500, "tools param requires --jinja flag", "no_tools"),
        (400, "Use 'max_completion_tokens' instead", "other_limit"),
        (422, "temperature: out of range", "refused"),
        (429, "You exceeded your quota: insufficient_quota", "refused"),
    ],
)
async def test_what_another_request_may_mend_is_said_so(
    server, endpoint, answers, status, said, meaning
):
    server.script = [answers.error(status, said)]
    with pytest.raises(RefusedError) as caught:
        await endpoint.complete(REQUEST, read_reply)
    assert caught.value.meaning == meaning
    assert len(server.requests) == 1


async def test_an_endpoint_elsewhere_is_named(server, endpoint):
    server.script = [(308, {"location": "http://127.0.0.1:1/v2"}, b"")]
    with pytest.raises(UsageError, match=r"elsewhere \(http://127\.0\.0\.1:1/v2\)"):
        await endpoint.complete(REQUEST, read_reply)
    assert len(server.requests) == 1, "the key was sent nowhere else"


async def test_one_that_is_down_stops_the_run_after_some_requests(server, answers):
    server.script = [answers.error(500, "down")]
    endpoint = Endpoint(server.url, "", "MY_KEY", 5.0, 1, 1)
    for _ in range(GIVE_UP_AFTER - 1):
        with pytest.raises(PolicyError, match="status 500: down"):
            await endpoint.complete(REQUEST, read_reply)
    with pytest.raises(UnavailableError, match=r"in a row.*same command again"):
        await endpoint.complete(REQUEST, read_reply)
    server.script = [answers.text("up")]
    await endpoint.complete(REQUEST, read_reply)
    server.script = [answers.error(500, "down")]
    with pytest.raises(PolicyError):  # counted anew
        await endpoint.complete(REQUEST, read_reply)
    await endpoint.aclose()


async def test_nobody_listens():
    endpoint = Endpoint("http://127.0.0.1:9", "", "MY_KEY", 5.0, 0, 1)
    with pytest.raises(PolicyError, match="ConnectError"):
        await endpoint.complete(REQUEST, read_reply)
    await endpoint.aclose()


async def test_so_many_requests_at_once_and_no_more(server, endpoint, answers):
    def slowly(request):
        return answers.text("ok")

    send = server.RequestHandlerClass._send

    def late(handler, answer):
        time.sleep(0.03)
        send(handler, answer)

    server.script = slowly
    server.RequestHandlerClass = type("Late", (server.RequestHandlerClass,), {"_send": late})
    await asyncio.gather(*(endpoint.complete(REQUEST, read_reply) for _ in range(12)))
    assert 1 < server.most <= 4


def test_it_serves_one_event_loop_after_another(server, answers):
    server.script = [answers.text("ok")]
    endpoint = Endpoint(server.url, "", "MY_KEY", 5.0, 0, 1)

    async def once():
        await endpoint.complete(REQUEST, read_reply)
        await endpoint.aclose()
        await endpoint.aclose()

    asyncio.run(once())
    asyncio.run(once())
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:8000", "is no address"),
        ("ftp://x/v1", "is no address"),
        ("http://", "is no address"),
        ("http://[::1", "is no address"),
        ("http://x:99999/v1", "is no address"),
        ("http://me:pass@x/v1", "name or password"),
        ("http://x/v1?key=abc", "must end with a path"),
    ],
)
def test_an_address_that_is_none_is_told(url, told):
    with pytest.raises(UsageError, match=told) as caught:
        checked_url(url)
    assert "pass@" not in str(caught.value)


def test_an_address_is_taken_with_and_without_its_end():
    for url in ("http://x/v1", "http://x/v1/", " http://x/v1/chat/completions"):
        assert checked_url(url) == "http://x/v1"


@given(st.binary(max_size=200), st.sampled_from(["", "error", "message", "detail"]))
def test_what_an_endpoint_says_is_short_and_never_holds_the_key(said, field):
    key = "sk-1234567890"
    words = said.decode("utf-8", "replace") + key
    body = json.dumps({field: words}) if field else words
    shown = message_of(body.encode("utf-8", "replace"), key)
    assert len(shown) <= 301
    assert not {"\x1b", "\n", "\r"} & set(shown)
    assert key not in shown
