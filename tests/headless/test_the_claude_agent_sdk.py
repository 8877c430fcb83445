"""The Claude Agent SDK, as it comes from PyPI, drives our command."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from support.headless_client import PROGRAM
from support.modelserver import call, text, thinking, turn


@pytest.fixture
def options(tmp_path, model_server):
    """Options with our command as the CLI; more can be added."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def make(**more) -> ClaudeAgentOptions:
        extra = {"headless": None, "dialect": "claude", **more.pop("extra_args", {})}
        env = {**model_server.env(), "HOME": str(tmp_path / "home")}
        return ClaudeAgentOptions(cli_path=PROGRAM, cwd=workspace, env=env, extra_args=extra, **more)

    return make


def bash(command: str):
    return call("Bash", {"command": command})


async def heard(messages, into: list | None = None) -> list:
    found = into if into is not None else []
    async with asyncio.timeout(60):
        async for message in messages:
            found.append(message)
    return found


def made(options) -> list[str]:
    """The files that the turn left."""
    return sorted(path.name for path in Path(options().cwd).iterdir())


async def test_query_gives_the_answer(options, model_server):
    model_server.script([thinking("Hm."), text("Two files.")])

    messages = await heard(query(prompt="list the files", options=options()))

    init, said, result = messages
    assert isinstance(init, SystemMessage)
    assert {"Bash", "Read", "Edit"} <= set(init.data["tools"])
    assert isinstance(said, AssistantMessage)
    assert [block.text for block in said.content if isinstance(block, TextBlock)] == ["Two files."]
    assert isinstance(result, ResultMessage)
    assert (result.subtype, result.is_error, result.result, result.num_turns) == ("success", False, "Two files.", 1)
    assert result.session_id == init.data["session_id"]
    assert result.usage["output_tokens"] > 0


async def test_query_without_a_permission_callback_denies_what_would_ask(options, model_server):
    model_server.script([bash("touch made")], "I could not.")

    messages = await heard(query(prompt="make it", options=options()))

    assert messages[-1].result == "I could not."
    assert [denied["tool_name"] for denied in messages[-1].permission_denials] == ["Bash"]
    assert made(options) == []


async def prompts(*texts: str):
    for words in texts:
        yield {"type": "user", "message": {"role": "user", "content": words}, "parent_tool_use_id": None}


async def test_the_permission_callback_decides(options, model_server):
    model_server.script([bash("touch yes"), bash("touch no"), bash("touch other")], "Done.")
    asked = []

    async def can_use_tool(name, given, context):
        asked.append((name, given["command"], bool(context.tool_use_id), len(context.suggestions)))
        if given["command"] == "touch no":
            return PermissionResultDeny(message="rather not")
        if given["command"] == "touch other":
            return PermissionResultAllow(updated_input={"command": "touch changed"})
        return PermissionResultAllow()

    messages = await heard(query(prompt=prompts("make them"), options=options(can_use_tool=can_use_tool)))

    assert [(name, command) for name, command, _, _ in asked] == [
        ("Bash", "touch yes"),
        ("Bash", "touch no"),
        ("Bash", "touch other"),
    ]
    assert all(has_id for _, _, has_id, _ in asked)
    results = [b for m in messages if isinstance(m, UserMessage) for b in m.content if isinstance(b, ToolResultBlock)]
    calls = [b for m in messages if isinstance(m, AssistantMessage) for b in m.content if isinstance(b, ToolUseBlock)]
    assert sorted(block.tool_use_id for block in results) == sorted(block.id for block in calls)
    assert "rather not" in next(block.content for block in results if block.is_error)
    assert made(options) == ["changed", "yes"]
    assert messages[-1].result == "Done."


async def test_a_suggestion_that_is_given_back_is_a_grant_for_the_session(options, model_server):
    model_server.script([bash("touch one")], [bash("touch two")], "Done.")
    asked = []

    async def can_use_tool(name, given, context):
        asked.append(given["command"])
        session = [one for one in context.suggestions if one.destination == "session"]
        return PermissionResultAllow(updated_permissions=session)

    messages = await heard(query(prompt=prompts("make them"), options=options(can_use_tool=can_use_tool)))

    assert asked == ["touch one"]
    assert messages[-1].is_error is False
    assert made(options) == ["one", "two"]


async def test_the_models_question_is_answered_through_the_callback(options, model_server):
    ask = {"question": "Which env?", "header": "Env", "options": [{"label": "dev"}, {"label": "prod"}]}
    model_server.script([call("AskUserQuestion", {"questions": [ask]})], "Done.")

    async def can_use_tool(name, given, context):
        assert name == "AskUserQuestion"
        assert given["questions"][0]["question"] == "Which env?"
        return PermissionResultAllow(updated_input={**given, "answers": {"Which env?": "prod"}})

    messages = await heard(query(prompt=prompts("deploy"), options=options(can_use_tool=can_use_tool)))

    [block] = [b for m in messages if isinstance(m, UserMessage) for b in m.content]
    assert "prod" in block.content
    assert messages[-1].is_error is False


async def test_a_hook_of_the_client_can_only_tighten(options, model_server):
    model_server.script([bash("touch blocked"), bash("touch fine")], "Done.")
    seen = []

    async def before(given, tool_use_id, context):
        seen.append((given["hook_event_name"], given["tool_name"], given["tool_input"]["command"]))
        blocked = given["tool_input"]["command"] == "touch blocked"
        said = {"permissionDecision": "deny", "permissionDecisionReason": "hands off"} if blocked else {}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}

    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])]}
    given = options(hooks=hooks, permission_mode="bypassPermissions")
    messages = await heard(query(prompt=prompts("make them"), options=given))

    assert seen == [("PreToolUse", "Bash", "touch blocked"), ("PreToolUse", "Bash", "touch fine")]
    texts = [b.content for m in messages if isinstance(m, UserMessage) for b in m.content]
    assert any("hands off" in words for words in texts)
    assert made(options) == ["fine"]


async def test_a_tool_in_the_clients_own_program_is_called(options, model_server):
    @tool("add", "Adds two numbers.", {"a": int, "b": int})
    async def add(given):
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    model_server.script([call("mcp__calc__add", {"a": 2, "b": 40})], "It is 42.")
    servers = {"calc": create_sdk_mcp_server("calc", tools=[add])}

    given = options(mcp_servers=servers, allowed_tools=["mcp__calc__add"])
    messages = await heard(query(prompt=prompts("add them"), options=given))

    assert "mcp__calc__add" in [declared["name"] for declared in model_server.requests[0]["tools"]]
    [block] = [b for m in messages if isinstance(m, UserMessage) for b in m.content]
    assert (block.content, bool(block.is_error)) == ("42", False)
    assert messages[-1].result == "It is 42."


async def test_partial_messages_are_the_services_own_events(options, model_server):
    model_server.script([thinking("Hm."), text("Hello, world."), call("Grep", {"pattern": "x"}, id="t1")], "Done.")

    messages = await heard(query(prompt="hi", options=options(include_partial_messages=True)))

    kinds = [message.event["type"] for message in messages if isinstance(message, StreamEvent)]
    assert kinds[0] == "message_start"
    assert kinds.count("message_start") == kinds.count("message_stop") == 2
    assert kinds.count("content_block_start") == kinds.count("content_block_stop") == 4
    deltas = [m.event["delta"] for m in messages if isinstance(m, StreamEvent) and "delta" in m.event]
    assert "".join(d["text"] for d in deltas if d.get("type") == "text_delta") == "Hello, world.Done."
    assert "".join(d["partial_json"] for d in deltas if d.get("type") == "input_json_delta") == '{"pattern": "x"}'


async def test_a_failure_is_a_result_error(options, model_server):
    from support.modelserver import status

    model_server.script(status(401))
    messages = []

    with pytest.raises(ResultError):
        await heard(query(prompt="hi", options=options()), messages)

    assert messages[-1].is_error is True
    assert messages[-1].subtype == "error_during_execution"


async def test_a_client_holds_a_conversation(options, model_server):
    model_server.script("One.", "Two.", turn(text("a long answer " * 10), stall_after=6), "Three.")

    async with asyncio.timeout(60), ClaudeSDKClient(options(max_turns=5)) as client:
        await client.query("first")
        first = [message async for message in client.receive_response()][-1]
        await client.set_model("claude-haiku-5-5")
        await client.set_permission_mode("acceptEdits")
        await client.query("second")
        second = [message async for message in client.receive_response()][-1]
        await client.query("third")
        await asyncio.to_thread(model_server.wait_for, 3)
        await client.interrupt()
        third = [message async for message in client.receive_response()][-1]
        usage = await client.get_context_usage()
        servers = await client.get_mcp_status()
        info = await client.get_server_info()
        with pytest.raises(Exception, match="No background task"):
            await client.stop_task("b1")
        with pytest.raises(Exception, match="cannot be taken back"):
            await client.rewind_files("u1")
        await client.query("fourth")
        fourth = [message async for message in client.receive_response()]

    assert (first.result, second.result, fourth[-1].result) == ("One.", "Two.", "Three.")
    assert first.session_id == second.session_id
    assert model_server.requests[1]["model"] == "claude-haiku-5-5"
    assert (third.subtype, third.is_error) == ("error_during_execution", True)
    assert fourth[0].data["permissionMode"] == "acceptEdits"
    assert usage["model"] == "claude-haiku-5-5"
    assert servers == {"mcpServers": []}
    assert info["output_style"] == "default"


async def test_a_session_is_resumed_by_its_id(options, model_server):
    model_server.script("My name is cosh.", "cosh, as I said.")

    first = (await heard(query(prompt="who are you?", options=options())))[-1]
    second = (await heard(query(prompt="again?", options=options(resume=first.session_id))))[-1]

    assert second.session_id == first.session_id
    assert len(model_server.requests[1]["messages"]) == 3
