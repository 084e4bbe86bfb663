"""Statements by a model: asked over real HTTP, looked through, tried a few times, or left."""

from dataclasses import replace

import pytest
from chat_server import error, serving, text
from statement_parts import TASK, TREE, texts

from codegym.agents.chat import Chat
from codegym.errors import UnavailableError
from codegym.mutation.statements import reword, told
from codegym.store import LayerStore

GOOD = "The area of four by five comes out as 9. It should be 20."


@pytest.fixture
def server():
    with serving() as made:
        yield made


@pytest.fixture
def ask(server, tmp_path):
    async def asked(*answers, detail="medium", tasks=1, store=tmp_path / "store"):
        server.script = list(answers)
        chat = Chat("tiny", base_url=server.url, max_retries=0)
        rows = [told(replace(TASK, instance_id=f"t-{at}"), texts(), detail) for at in range(tasks)]
        try:
            return await reword(rows, TREE, chat, detail, store=LayerStore(store))
        finally:
            await chat.aclose()

    return asked


async def test_what_a_model_writes_is_the_statement(ask, server):
    found = await ask(text(f"<think>hm, width + height</think>\n{GOOD}\n"))
    (task,) = found.tasks
    assert task.problem_statement == task.provenance["statements"]["medium"] == GOOD
    assert task.provenance["statement_by"] == "chat:tiny"
    assert task.features["statement_chars"] == len(GOOD)
    assert task.provenance["statements"]["high"] == texts()["high"]
    assert found.counts == {"written": 1, "template": 0, "leaked": 0, "failed": 0}
    (request,) = server.requests
    system, user = (one["content"] for one in request["messages"])
    assert "name no file" in system
    assert texts()["medium"] in user
    assert "tools" not in request
    for secret in ("shapes.py", "width", "height", TASK.instance_id, "test_area"):
        assert secret not in system + user


async def test_one_that_gives_the_answer_away_is_asked_again(ask, server):
    bad = text("In src/shapes.py, `width + height` should be `width * height`.")
    found = await ask(bad, text(GOOD))
    assert found.tasks[0].problem_statement == GOOD
    assert found.counts == {"written": 1, "template": 0, "leaked": 1, "failed": 0}
    again = server.requests[1]["messages"][1]["content"]
    assert "Do not say: the file src/shapes.py; part of the patch: width * height;" in again


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        (text("See line 2 of the module: there it goes wrong."), {"leaked": 3, "failed": 0}),
        (text(""), {"leaked": 0, "failed": 3}),
        (text("No." * 3000), {"leaked": 0, "failed": 3}),
        (text('{"name": "bash", "arguments": {}}'), {"leaked": 0, "failed": 3}),
    ],
)
async def test_the_template_stays_where_no_attempt_is_good(ask, server, answer, counts):
    found = await ask(answer)
    assert found.tasks[0].problem_statement == texts()["medium"]
    assert found.tasks[0].provenance["statement_by"] == "template"
    assert found.counts == {"written": 0, "template": 1, **counts}
    assert len(server.requests) == 3


async def test_an_endpoint_that_fails_once_and_one_that_is_down(ask):
    found = await ask(error(500, "busy"), text(GOOD))
    assert found.counts == {"written": 1, "template": 0, "leaked": 0, "failed": 1}
    with pytest.raises(UnavailableError, match="in a row"):
        await ask(error(500, "busy"), detail="low")


async def test_what_was_written_is_not_asked_for_again(ask, server):
    first = await ask(text(GOOD), tasks=4)
    assert len(server.requests) == 4
    again = await ask(text("Something else that is long enough."), tasks=4)
    assert again.tasks == first.tasks
    assert len(server.requests) == 4
    assert again.counts["written"] == 4


async def test_features_keep_their_statement(server):
    row = told(replace(TASK, kind="ImplementFeature"), texts(), "low")
    chat = Chat("tiny", base_url=server.url)
    found = await reword([row, TASK], TREE, chat, "low")
    assert found.tasks == (row, TASK)
    assert not server.requests
