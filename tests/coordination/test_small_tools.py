"""ToolSearch, SendMessage, Brief, Sleep, Config: each does what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cosh_tools.agents.inbox import Inbox
from cosh_tools.contract import ToolDefinition
from cosh_tools.hosts import Allowed, ApprovalAnswer, ApprovalRequest
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry
from cosh_tools.results import ToolError
from support.coordination_desk import CoordinationDesk, TurnedClock, settle


class Shelf:
    """A catalogue with some tools held back."""

    def __init__(self, deferred: Mapping[str, str]) -> None:
        self._entries = [(tool.to_definition(), tool.keywords, False) for tool in ToolRegistry.for_claude().tools()]
        self._entries += [(ToolDefinition(name, text, {}), (), True) for name, text in deferred.items()]
        self.declared: list[str] = []

    def entries(self) -> Sequence[tuple[ToolDefinition, tuple[str, ...], bool]]:
        return self._entries

    def declare(self, names: Sequence[str]) -> None:
        self.declared += names


def searching(folder: Path) -> tuple[CoordinationDesk, Shelf]:
    shelf = Shelf({"mcp__mail__send": "Sends mail to somebody.", "mcp__mail__list": "Lists mail."})
    return CoordinationDesk(folder, catalogue=shelf), shelf


async def test_tools_are_found_by_words_best_first(tmp_path):
    desk, _ = searching(tmp_path)
    lines = (await desk("ToolSearch", query="notebook")).content.splitlines()
    assert lines[0] == "Tools matching 'notebook':"
    assert lines[1].startswith("NotebookEdit: ")
    assert lines[-1] == "Total tools available: 36"
    assert (await desk("ToolSearch", query="grep")).content.splitlines()[1].startswith("Grep: ")
    assert (await desk("ToolSearch", query="terminal")).content.splitlines()[1].startswith("Bash: ")


async def test_a_name_weighs_more_than_a_description(tmp_path):
    desk, _ = searching(tmp_path)
    found = (await desk("ToolSearch", query="edit file", max_results=20)).metadata["tools"]
    assert found[0] == "Edit"
    assert "Write" in found


async def test_a_required_word_must_be_there(tmp_path):
    desk, _ = searching(tmp_path)
    assert (await desk("ToolSearch", query="+mail send")).metadata["tools"] == ["mcp__mail__send", "mcp__mail__list"]


async def test_held_back_tools_that_are_found_are_declared(tmp_path):
    desk, shelf = searching(tmp_path)
    result = await desk("ToolSearch", query="mail")
    assert shelf.declared == ["mcp__mail__send", "mcp__mail__list"]
    assert "Declared for you from now on: mcp__mail__send, mcp__mail__list." in result.content


async def test_selecting_by_name_takes_any_case_and_aliases(tmp_path):
    desk, shelf = searching(tmp_path)
    result = await desk("ToolSearch", query="select:read, Agent,nothing,MCP__mail__send")
    assert [line.partition(":")[0] for line in result.content.splitlines()[:4]] == [
        "Read", "Task", "mcp__mail__send", "Not found",
    ]  # fmt: skip
    assert shelf.declared == ["mcp__mail__send"]
    assert (await desk("ToolSearch", query="select:nothing")).content == "No matching tools found for: nothing"


async def test_nothing_found_says_how_to_go_on(tmp_path):
    desk, _ = searching(tmp_path)
    result = await desk("ToolSearch", query="zzz")
    assert result.content == "No tools found matching 'zzz'. Try broader keywords or use 'select:ToolName'."
    assert not result.is_error


async def test_the_number_of_results_is_bounded(tmp_path):
    desk, _ = searching(tmp_path)
    assert len((await desk("ToolSearch", query="e")).metadata["tools"]) == 5
    assert (await desk("ToolSearch", query="e", max_results=21)).is_error


async def test_a_message_reaches_a_running_agent(tmp_path):
    desk = CoordinationDesk(tmp_path)
    name = desk.inbox.open("helper")
    result = await desk("SendMessage", to="helper", message="look at x" * 20)
    assert result.content.startswith("Message sent to 'helper': look at x")
    assert desk.inbox.drain(name) == [f"[Message from main:] {'look at x' * 20}"]
    assert desk.inbox.drain(name) == []


async def test_a_broadcast_reaches_all_others(tmp_path):
    desk = CoordinationDesk(tmp_path)
    names = [desk.inbox.open("a"), desk.inbox.open("b")]
    assert (await desk("SendMessage", to="*", message="é" * 61)).content.startswith("Broadcast to 2 agent(s) (a, b): é")
    assert all(desk.inbox.drain(name) for name in names)
    assert desk.inbox.drain("main") == []


@pytest.mark.parametrize("to", ["nobody", "*"])
async def test_nobody_there_is_said_and_nothing_is_lost_silently(tmp_path, to):
    result = await CoordinationDesk(tmp_path)("SendMessage", to=to, message="x")
    assert result.is_error
    assert "was not sent" in result.content


async def test_an_empty_message_is_refused(tmp_path):
    assert (await CoordinationDesk(tmp_path)("SendMessage", to="main", message=" ")).content.startswith(
        "Message cannot be"
    )


def test_names_in_the_inbox_are_unique_and_boxes_bounded():
    inbox = Inbox()
    assert [inbox.open("a") for _ in range(3)] == ["a", "a-2", "a-3"]
    assert inbox.open("*") == "*-2"
    inbox.close("a-2")
    assert inbox.names == ["*-2", "a", "a-3", "main"]
    for _ in range(100):
        inbox.send("main", "a", "x")
    with pytest.raises(ToolError, match="unread"):
        inbox.send("main", "a", "x")
    inbox.close("main")
    assert "main" in inbox.names


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)


async def test_a_brief_carries_its_files_and_shows_its_images(tmp_path):
    desk = CoordinationDesk(tmp_path)
    desk.file("plot.png", PNG)
    desk.file("data.csv", "a,b\n")
    result = await desk("Brief", message="**Done**", status="proactive", attachments=["plot.png", "data.csv"])
    assert result.content == "**Done**"
    assert [(Path(item["path"]).name, item["size"], item["is_image"]) for item in result.metadata["attachments"]] == [
        ("plot.png", len(PNG), True), ("data.csv", 4, False),
    ]  # fmt: skip
    assert [media.data for media in result.metadata["media"]] == [PNG]
    assert result.metadata["status"] == "proactive"
    datetime.fromisoformat(result.metadata["sentAt"])


async def test_a_brief_with_a_bad_file_is_not_sent(tmp_path):
    desk = CoordinationDesk(tmp_path)
    desk.file("a.txt", "x")
    result = await desk("Brief", message="x", attachments=["a.txt", "nothing.txt", "."])
    assert result.is_error
    assert result.content == "Failed to resolve attachments:\nnothing.txt: there is no such file\n.: it is a folder"
    assert (await desk("Brief", message=" ")).is_error


async def test_a_key_is_not_attached_without_a_person(tmp_path):
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.DEFAULT)
    desk.file(".env", "KEY=1")
    assert (await desk("Brief", message="x", attachments=[".env"])).is_error


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [({"ms": 1500}, 1.5), ({"duration": 2}, 2), ({"duration": 2.5}, 2.5), ({"seconds": "3"}, 3),
     ({"duration_ms": 10}, 0.01),
     ({"duration": 9_999}, 300), ({"ms": 10**9}, 300), ({"ms": 0}, 0)],
)  # fmt: skip
async def test_sleep_takes_both_units_and_at_most_five_minutes(tmp_path, arguments, seconds):
    slept = []

    class Clock(TurnedClock):
        async def sleep(self, seconds: float) -> None:
            slept.append(seconds)

    desk = CoordinationDesk(tmp_path, clock=Clock(datetime.now().astimezone()))
    result = await desk("Sleep", **arguments)
    assert slept == [seconds]
    assert result.content == f"Slept for {seconds * 1000:.0f}ms."


async def test_sleep_can_be_stopped_and_wants_a_time(tmp_path):
    desk = CoordinationDesk(tmp_path)
    call = asyncio.create_task(desk("Sleep", duration=300))
    await settle()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert "say how long" in (await desk("Sleep")).content
    assert (await desk("Sleep", ms=-1)).is_error


class Book:
    """A settings file in memory."""

    def __init__(self, **values: Any) -> None:
        self.values: dict[str, Any] = values

    def get(self, key: str) -> Any:
        return self.values.get(key)

    def set(self, key: str, value: Any) -> Path:
        self.values[key] = value
        return Path("settings.json")


class Person:
    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return Allowed()


async def test_reading_a_setting_is_free(tmp_path):
    person = Person()
    desk = CoordinationDesk(
        tmp_path, mode=PermissionMode.DEFAULT, settings=Book(model="m-1", verbose=True), permission_handler=person
    )
    assert (await desk("Config", setting="model")).content == "model = m-1"
    assert (await desk("Config", key="max_tokens", action="get")).content == "max_tokens = not set"
    listed = (await desk("Config", setting="list")).content
    assert "verbose = true" in listed
    assert "permission_mode = not set" in listed
    assert person.asked == []


@pytest.mark.parametrize(
    ("name", "value", "key", "stored"),
    [
        ("model", "m-2", "model", "m-2"),
        ("max_tokens", "5000", "max_tokens", 5000),
        ("verbose", "true", "verbose", True),
        ("auto_compact", False, "auto_compact", False),
        ("permission_mode", "accept_edits", "permissions.defaultMode", "acceptEdits"),
    ],
)
async def test_changing_one_asks_a_person_and_then_writes(tmp_path, name, value, key, stored):
    person, book = Person(), Book()
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.DEFAULT, settings=book, permission_handler=person)
    result = await desk("Config", setting=name, value=value)
    assert book.values == {key: stored}
    assert result.content.startswith(f"{name} = ")
    assert [request.call.name for request in person.asked] == ["Config"]
    assert person.asked[0].grants == ()


async def test_nobody_to_ask_changes_nothing(tmp_path):
    book = Book()
    desk = CoordinationDesk(tmp_path, mode=PermissionMode.DEFAULT, settings=book)
    assert (await desk("Config", setting="permission_mode", value="bypassPermissions")).is_error
    assert book.values == {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"setting": "apiKeyHelper", "value": "x"}, "Unknown setting 'apiKeyHelper'"),
        ({"setting": "env"}, "Unknown setting 'env'"),
        ({"setting": "hooks", "value": {}}, "Unknown setting"),
        ({"setting": "max_tokens", "value": "many"}, "a whole number"),
        ({"setting": "max_tokens", "value": 0}, "a whole number"),
        ({"setting": "verbose", "value": "perhaps"}, "true or false"),
        ({"setting": "permission_mode", "value": "yolo"}, "one of trust"),
        ({"setting": "model", "value": " "}, "a text"),
    ],
)
async def test_what_it_does_not_take_is_said(tmp_path, arguments, sentence):
    book = Book()
    result = await CoordinationDesk(tmp_path, settings=book)("Config", **arguments)
    assert result.is_error
    assert sentence in result.content
    assert book.values == {}


def test_every_tool_here_has_its_level_and_a_described_schema():
    for (
        name
    ) in "TaskCreate TaskGet TaskUpdate TaskList TaskStop TaskOutput TodoWrite CronCreate CronDelete CronList".split():
        tool = next(tool for tool in ToolRegistry.for_claude().tools() if tool.name == name)
        assert (tool.kind, tool.permission_level) == ("Other", "None")
        for about in json.loads(json.dumps(tool.input_schema()))["properties"].values():
            assert about["description"]
