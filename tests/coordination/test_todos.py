"""One todo list under two names: TodoWrite replaces it whole, todo changes one item."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.coordination_desk import CoordinationDesk


@pytest.fixture
def desk(tmp_path: Path) -> CoordinationDesk:
    return CoordinationDesk(tmp_path)


def item(content: str, status: str = "pending", **more: object) -> dict[str, object]:
    return {"content": content, "status": status, **more}


async def test_the_list_is_replaced_and_counted(desk):
    result = await desk(
        "TodoWrite", todos=[item("a", "completed", id="1"), item("b", "in_progress", id="2"), item("c", id="3")]
    )
    assert result.content.startswith(
        "Todo list updated (3 total: 1 pending, 1 in progress, 1 completed)\n\n[x] a (1)\n[~] b (2)"
    )
    assert {key: result.metadata[key] for key in ("total", "completed", "in_progress", "pending")} == {
        "total": 3, "completed": 1, "in_progress": 1, "pending": 1,
    }  # fmt: skip
    assert [todo["content"] for todo in result.metadata["todos"]] == ["a", "b", "c"]
    result = await desk("TodoWrite", todos=[item("only", id="9")])
    assert result.metadata["total"] == 1


async def test_items_without_ids_get_some_and_keep_them(desk):
    first = await desk("TodoWrite", todos=[item("a"), item("b")])
    ids = [todo["id"] for todo in first.metadata["todos"]]
    second = await desk("TodoWrite", todos=[item("new"), item("b", "in_progress"), item("a", "completed")])
    assert [todo["id"] for todo in second.metadata["todos"]][1:] == [ids[1], ids[0]]
    assert len({todo["id"] for todo in second.metadata["todos"]}) == 3


async def test_spellings_of_a_status_are_understood(desk):
    result = await desk("TodoWrite", todos=[item("a", "In-Progress"), item("b", "COMPLETED")])
    assert [todo["status"] for todo in result.metadata["todos"]] == ["in_progress", "completed"]


@pytest.mark.parametrize(
    ("todos", "sentence"),
    [
        ([item("a", id="1"), item("b", id="1")], 'Duplicate task ID "1"'),
        ([item("done", "pending", id="1")], "is completed and stays so"),
        ([item("done", "in_progress", id="1")], "is completed and stays so"),
        ([item("doing", "pending", id="2")], "is in progress"),
        ([item("a", "finished")], "status"),
        ([{"status": "pending"}], "content"),
        ("nothing", "todos"),
    ],
)
async def test_a_wrong_list_changes_nothing(desk, todos, sentence):
    await desk("TodoWrite", todos=[item("done", "completed", id="1"), item("doing", "in_progress", id="2")])
    result = await desk("TodoWrite", todos=todos)
    assert result.is_error
    assert sentence in result.content
    assert [todo["content"] for todo in desk.ctx.tasks.load("todos")] == ["done", "doing"]


async def test_a_list_that_came_as_text_is_understood(desk):
    assert not (await desk("TodoWrite", todos='[{"content": "a", "status": "pending"}]')).is_error


async def test_an_empty_list_is_a_list(desk):
    assert (await desk("TodoWrite", todos=[])).content.startswith("Todo list updated (0 total")


async def test_cosh_adds_lists_marks_and_removes(desk):
    assert (await desk("todo", action="list")).output == "No items."
    assert (await desk("todo", action="add", text="one")).output == "Added item #1: one"
    assert (await desk("todo", action="add", text="two")).output == "Added item #2: two"
    assert (await desk("todo", action="done", id=1)).output == "Marked #1 as done"
    assert (await desk("todo", action="list")).output == "[x] #1: one\n[ ] #2: two"
    assert (await desk("todo", action="remove", id=2)).output == "Removed #2"
    assert (await desk("todo", action="add", text="three")).output == "Added item #3: three"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"action": "add"}, "Missing 'text'"),
        ({"action": "done"}, "Missing 'id'"),
        ({"action": "remove", "id": 7}, "no item #7"),
        ({"action": "fly"}, "action"),
        ({}, "action"),
    ],
)
async def test_cosh_s_errors(desk, arguments, sentence):
    result = await desk("todo", **arguments)
    assert result.is_error
    assert sentence in result.output


async def test_both_names_mean_one_list_and_ids_never_come_twice(desk):
    await desk("todo", action="add", text="from cosh")
    await desk("TodoWrite", todos=[item("from cosh", "completed", id="1"), item("from claude", id="5")])
    assert (await desk("todo", action="list")).output == "[x] #1: from cosh\n[ ] #5: from claude"
    assert (await desk("todo", action="add", text="next")).output == "Added item #6: next"
    await desk("TodoWrite", todos=[])
    assert (await desk("todo", action="add", text="later")).output == "Added item #7: later"
