"""The Agent Client Protocol, spoken by the package's own client to our command."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block, text_block
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AllowedOutcome,
    CurrentModeUpdate,
    DeniedOutcome,
    McpServerStdio,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from cosh_nb.acp.sessions import AcpSession
from cosh_nb.events import Waiting
from cosh_nb.session import Session
from cosh_tools.kinds import PermissionMode
from support.headless_client import ACP_COMMAND, environment
from support.modelserver import ModelServer, call, status, text, thinking, turn

pytestmark = pytest.mark.asyncio(loop_scope="module")
PEER = Path(__file__).parent.parent / "support" / "mcp_peer.py"


class Person:
    """A client with a person who answers by `decide(tool_call, options)`."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[Any, list[Any]]] = []
        self.news = asyncio.Event()
        self.decide = lambda _call, options: next(one.option_id for one in options if one.kind == "allow_once")

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.news.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any):
        self.asked.append((tool_call, options))
        self.news.set()
        chosen = self.decide(tool_call, options)
        if asyncio.iscoroutine(chosen):
            chosen = await chosen
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None:
        del conn

    async def until(self, wanted) -> None:
        async with asyncio.timeout(30):
            while not wanted():
                self.news.clear()
                await self.news.wait()

    def of(self, kind: type) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kind)]

    @property
    def said(self) -> str:
        return "".join(update.content.text for update in self.of(AgentMessageChunk))

    def states(self, call_id: str) -> list[str]:
        """The states that a tool call went through."""
        changes = [*self.of(ToolCallStart), *self.of(ToolCallProgress)]
        return [one.status for one in changes if one.tool_call_id == call_id and one.status is not None]


@contextlib.asynccontextmanager
async def our_command(folder: Path, server: ModelServer):
    """A person, a connection to our command, and its process."""
    person = Person()
    command, *arguments = ACP_COMMAND
    env = environment(folder / "home", server.env())
    async with spawn_agent_process(person, command, *arguments, env=env, cwd=folder) as (agent, process):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        yield person, agent, process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory):
    """One process for all tests of this module: sessions do not mix."""
    with ModelServer() as server:
        async with our_command(tmp_path_factory.mktemp("acp"), server) as (person, agent, process):
            yield person, agent, process, server


@pytest.fixture
def model_server(line):
    """The model of that process, with nothing said and nothing heard."""
    server = line[3]
    server.answer(None)
    server.seen.clear()
    yield server
    assert not server.unplayed


@pytest.fixture
def connected(line, model_server, tmp_path):
    """The person with nothing heard, the connection, the process, and a workspace of one's own."""
    person, agent, process, _ = line
    person.updates.clear()
    person.asked.clear()
    person.decide = Person().decide
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return person, agent, process, workspace


async def prompt(agent, session: str, *blocks):
    return await agent.prompt(session_id=session, prompt=[text_block(b) if isinstance(b, str) else b for b in blocks])


async def test_a_prompt_streams_thoughts_prose_and_tool_calls(connected, model_server):
    person, agent, _, workspace = connected
    (workspace / "a.txt").write_text("one\ntwo\n")
    model_server.script([thinking("Hm."), text("I look."), call("Read", {"file_path": "a.txt"}, id="t1")], "Two lines.")

    session = await agent.new_session(cwd=str(workspace))
    answer = await prompt(agent, session.session_id, "how long is a.txt?")

    assert answer.stop_reason == "end_turn"
    assert answer.usage.output_tokens > 0
    assert person.said == "I look.Two lines."
    assert "".join(update.content.text for update in person.of(AgentThoughtChunk)) == "Hm."
    assert person.states("t1") == ["pending", "in_progress", "completed"]
    [started] = person.of(ToolCallStart)
    assert started.kind == "read"
    where = [one.locations for one in person.of(ToolCallProgress) if one.locations]
    assert where[0][0].path == str(workspace / "a.txt")
    last = person.of(ToolCallProgress)[-1]
    assert "two" in last.content[0].content.text


async def test_an_edit_is_asked_for_as_a_diff_and_made_after_the_yes(connected, model_server):
    person, agent, _, workspace = connected
    (workspace / "a.txt").write_text("one\n")
    model_server.script([call("Write", {"file_path": "b.txt", "content": "new\n"}, id="t1")], "Done.")
    before = []
    person.decide = lambda _call, _options: before.append((workspace / "b.txt").exists()) or "once"

    session = await agent.new_session(cwd=str(workspace))
    await prompt(agent, session.session_id, "write it")

    assert before == [False]
    assert (workspace / "b.txt").read_text() == "new\n"
    [(asked, options)] = person.asked
    assert (asked.tool_call_id, asked.kind) == ("t1", "edit")
    assert (asked.content[0].type, asked.content[0].new_text) == ("diff", "new\n")
    assert (options[0].kind, options[-1].kind) == ("allow_once", "reject_once")
    assert person.states("t1") == ["pending", "in_progress", "completed"]


async def test_a_no_is_told_and_the_turn_goes_on(connected, model_server):
    person, agent, _, workspace = connected
    model_server.script([call("Bash", {"command": "touch made"}, id="t1")], "I could not.")
    person.decide = lambda _call, options: next(one.option_id for one in options if one.kind == "reject_once")

    session = await agent.new_session(cwd=str(workspace))
    answer = await prompt(agent, session.session_id, "make it")

    assert (answer.stop_reason, person.said) == ("end_turn", "I could not.")
    assert person.states("t1") == ["pending", "failed"]
    assert not (workspace / "made").exists()


async def test_an_always_is_not_asked_for_again(connected, model_server):
    person, agent, _, workspace = connected
    model_server.script([call("Bash", {"command": "touch one"})], [call("Bash", {"command": "touch two"})], "Done.")
    person.decide = lambda _call, options: next(one.option_id for one in options if one.kind == "allow_always")

    session = await agent.new_session(cwd=str(workspace))
    await prompt(agent, session.session_id, "make them")

    assert len(person.asked) == 1
    assert sorted(path.name for path in await asyncio.to_thread(list, workspace.iterdir())) == ["one", "two"]


async def test_a_cancel_ends_the_turn_at_any_time(connected, model_server):
    person, agent, _, workspace = connected
    model_server.script(turn(text("a long answer " * 10), stall_after=6))

    session = await agent.new_session(cwd=str(workspace))
    running = asyncio.create_task(prompt(agent, session.session_id, "tell me"))
    await person.until(lambda: person.said)
    await agent.cancel(session_id=session.session_id)
    async with asyncio.timeout(1):
        assert (await running).stop_reason == "cancelled"

    model_server.script([call("Bash", {"command": "sleep 300"}, id="t2")])
    running = asyncio.create_task(prompt(agent, session.session_id, "wait"))
    await person.until(lambda: "in_progress" in person.states("t2"))
    await agent.cancel(session_id=session.session_id)
    async with asyncio.timeout(2):
        assert (await running).stop_reason == "cancelled"
    assert person.states("t2")[-1] == "failed"

    model_server.script([call("Bash", {"command": "touch made"}, id="t3")])
    forever = asyncio.Event()
    person.decide = lambda _call, _options: forever.wait()
    count = len(person.asked)
    running = asyncio.create_task(prompt(agent, session.session_id, "make it"))
    await person.until(lambda: len(person.asked) > count)
    await agent.cancel(session_id=session.session_id)
    async with asyncio.timeout(1):
        assert (await running).stop_reason == "cancelled"
    assert not (workspace / "made").exists()
    forever.set()


async def test_modes_are_offered_taken_and_told(connected, model_server):
    person, agent, _, workspace = connected
    model_server.script([call("Bash", {"command": "touch made"})], "Done.")

    session = await agent.new_session(cwd=str(workspace))
    assert session.modes.current_mode_id == "default"
    assert {"default", "acceptEdits", "plan", "bypassPermissions"} <= {one.id for one in session.modes.available_modes}
    await agent.set_session_mode(session_id=session.session_id, mode_id="bypassPermissions")
    await prompt(agent, session.session_id, "make it")
    assert (workspace / "made").exists()
    assert not person.asked
    with pytest.raises(RequestError, match="There is no mode"):
        await agent.set_session_mode(session_id=session.session_id, mode_id="nonsense")


async def test_a_mode_that_a_tool_changed_is_told(tmp_path):
    person = Person()
    session = AcpSession.open(person, tmp_path, Session.new(tmp_path, persist=False), [], {})
    session.agent.state.permission_mode = PermissionMode.PLAN  # as EnterPlanMode does

    session._emit(Waiting("a moment"))
    await session.updates.join()
    await session.close()

    assert [update.current_mode_id for update in person.of(CurrentModeUpdate)] == ["plan"]


async def test_a_stored_session_is_listed_and_loaded_with_its_whole_story(connected, model_server):
    person, agent, _, workspace = connected
    (workspace / "a.txt").write_text("one\n")
    model_server.script([text("I look."), call("Read", {"file_path": "a.txt"}, id="t1")], "One line.", "Still one.")
    first = await agent.new_session(cwd=str(workspace))
    await prompt(agent, first.session_id, "how long is a.txt?")
    person.updates.clear()

    listed = await agent.list_sessions(cwd=str(workspace))
    loaded = await agent.load_session(cwd=str(workspace), session_id=first.session_id, mcp_servers=[])

    assert [(one.session_id, one.title) for one in listed.sessions] == [(first.session_id, "how long is a.txt?")]
    assert loaded.modes.current_mode_id == "default"
    assert [update.content.text for update in person.of(UserMessageChunk)] == ["how long is a.txt?"]
    assert person.said == "I look.One line."
    assert person.states("t1") == ["pending", "completed"]
    await prompt(agent, first.session_id, "and now?")
    assert len(model_server.requests[-1]["messages"]) == 5
    with pytest.raises(RequestError):
        await agent.load_session(cwd=str(workspace), session_id="nonsense", mcp_servers=[])


async def test_what_is_attached_goes_along(connected, model_server):
    _, agent, _, workspace = connected
    model_server.script("Seen.")

    session = await agent.new_session(cwd=str(workspace))
    await prompt(
        agent,
        session.session_id,
        "look",
        image_block("aGk=", "image/png"),
        resource_link_block("a", "file:///tmp/a%20b.txt"),
        resource_block(embedded_text_resource("file:///x.txt", "the text")),
    )

    content = model_server.requests[0]["messages"][0]["content"]
    assert content[0]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
    words = next(block["text"] for block in content if block.get("text", "").startswith("look"))
    assert "@/tmp/a b.txt" in words
    assert "the text" in words


async def test_the_models_question_becomes_a_choice(connected, model_server):
    person, agent, _, workspace = connected
    ask = {"question": "Which env?", "header": "Env", "options": [{"label": "dev"}, {"label": "prod"}]}
    model_server.script([call("AskUserQuestion", {"questions": [ask]}, id="t1")], "Done.")
    person.decide = lambda _call, options: next(one.option_id for one in options if one.name == "prod")

    session = await agent.new_session(cwd=str(workspace))
    await prompt(agent, session.session_id, "deploy")

    assert "prod" in json.dumps(model_server.requests[1]["messages"][-1])


async def test_the_clients_servers_are_started(connected, model_server):
    person, agent, _, workspace = connected
    model_server.script([call("mcp__peer__add", {"a": 2, "b": 40}, id="t1")], "It is 42.")
    peer = McpServerStdio(name="peer", command=sys.executable, args=[str(PEER)], env=[])

    session = await agent.new_session(cwd=str(workspace), mcp_servers=[peer])
    await prompt(agent, session.session_id, "add them")

    assert person.states("t1") == ["pending", "in_progress", "completed"]
    assert "42" in json.dumps(model_server.requests[1]["messages"][-1])


async def test_a_todo_list_is_a_plan(connected, model_server):
    person, agent, _, workspace = connected
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Change", "status": "in_progress", "activeForm": "Changing"},
    ]
    model_server.script([call("TodoWrite", {"todos": todos})], "Done.")

    session = await agent.new_session(cwd=str(workspace))
    await prompt(agent, session.session_id, "work")

    [plan] = person.of(AgentPlanUpdate)
    assert [(entry.content, entry.status) for entry in plan.entries] == [
        ("Look", "completed"),
        ("Change", "in_progress"),
    ]


async def test_faults_are_errors_in_words_and_the_connection_lives_on(connected, model_server):
    _, agent, _, workspace = connected
    model_server.script(status(401), "Fine.")

    session = await agent.new_session(cwd=str(workspace))
    with pytest.raises(RequestError, match="key"):
        await prompt(agent, session.session_id, "hi")
    with pytest.raises(RequestError, match="no words"):
        await prompt(agent, session.session_id, "  ")
    with pytest.raises(RequestError):
        await prompt(agent, "nonsense", "hi")
    with pytest.raises(RequestError, match="absolute path"):
        await agent.new_session(cwd="no/such/folder")
    assert (await prompt(agent, session.session_id, "hi")).stop_reason == "end_turn"


async def test_two_sessions_do_not_mix(connected, model_server):
    _, agent, _, workspace = connected
    (workspace / "one").mkdir()
    (workspace / "two").mkdir()
    model_server.answer(lambda request: "Heard: " + request["messages"][-1]["content"][0]["text"])

    first = await agent.new_session(cwd=str(workspace / "one"))
    second = await agent.new_session(cwd=str(workspace / "two"))
    await asyncio.gather(prompt(agent, first.session_id, "a"), prompt(agent, second.session_id, "b"))
    await prompt(agent, first.session_id, "c")

    counts = sorted(len(request["messages"]) for request in model_server.requests)
    assert counts == [1, 1, 3]


async def test_it_ends_when_the_client_goes(tmp_path):
    with ModelServer() as server:
        server.script([call("Bash", {"command": "sleep 300"})])
        async with our_command(tmp_path, server) as (_, agent, process):
            session = await agent.new_session(cwd=str(tmp_path))
            await agent.set_session_mode(session_id=session.session_id, mode_id="bypassPermissions")
            running = asyncio.create_task(prompt(agent, session.session_id, "wait"))
            await asyncio.to_thread(server.wait_for, 1)

            process.stdin.close()
            async with asyncio.timeout(10):
                assert await process.wait() == 0
            with contextlib.suppress(ConnectionError, RequestError):
                await running


async def test_lines_that_are_no_messages_are_answered_with_an_error(tmp_path):
    env = environment(tmp_path / "home", {})
    process = await asyncio.create_subprocess_exec(
        *ACP_COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=env, cwd=tmp_path
    )
    process.stdin.write(b"nonsense\n[1]\n" + json.dumps(_initialize()).encode() + b"\n")
    process.stdin.write_eof()
    async with asyncio.timeout(30):
        out, _ = await process.communicate()

    first, second, third = (json.loads(line) for line in out.splitlines())
    assert (first["error"]["code"], second["error"]["code"]) == (-32700, -32600)
    assert third["result"]["protocolVersion"] == PROTOCOL_VERSION
    assert process.returncode == 0


def _initialize() -> dict[str, Any]:
    params = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
