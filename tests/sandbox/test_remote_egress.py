"""A server's sandboxes have the same way out, to the proxy on the client's host."""

import pytest
from sandbox.test_egress import (  # noqa: F401 - fixtures, and tests that are run here once more
    box,
    far,
    test_a_fork_has_the_same_way_and_goes_on_alone,
    test_a_long_answer_arrives_whole,
    test_a_stopped_sandbox_has_no_connection_left,
    test_each_sandbox_has_its_own,
    test_it_is_there_again_when_everything_inside_was_ended,
    test_more_connections_than_may_be_wait_until_one_ends,
    test_nobody_inside_can_take_its_place,
    test_what_connects_inside_is_forwarded_and_nothing_else_listens,
    test_where_no_proxy_is_there_a_connection_ends_at_once,
    test_without_a_socket_nothing_listens,
)
from serving import TOKEN, served

from codegym.sandbox.backends import pick


@pytest.fixture(scope="session")
def server():
    with served() as process:
        yield process


@pytest.fixture
async def backend(server, monkeypatch):
    monkeypatch.setenv("CODEGYM_TOKEN", TOKEN)
    made = pick(f"remote:{server.url}")
    yield made
    await made.close()
