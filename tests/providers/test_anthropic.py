"""Anthropic's Messages API: what is sent, and what is made of what comes."""

from __future__ import annotations

import json
from dataclasses import replace

import anthropic
import pytest

from cosh_nb.events import MessageStart, ThinkingDelta, ToolUseBegin, ToolUseDelta, ToolUseEnd, Usage
from cosh_nb.messages import Message, user
from cosh_nb.providers import anthropic as dialect
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Request
from cosh_nb.providers.keys import Key
from cosh_tools.contract import ToolDefinition
from support.asking import QUICK, SECRET, ask, ask_and_fail, blocks, calls, claude, end, prose
from support.modelserver import ModelServer, call, frames, other, raw_call, redacted, status, text, thinking, turn

MARK = {"type": "ephemeral"}
TOOLS = (
    ToolDefinition("Bash", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}}),
    ToolDefinition("Read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
)
CALLED = Message("assistant", ({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.py"}},))
ANSWERED = Message("user", ({"type": "tool_result", "tool_use_id": "toolu_1", "content": "print(1)"},))


# -- what is sent -----------------------------------------------------------------------------------------------------


async def test_headers_and_the_smallest_request(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    await ask(claude(model_server), "hello")
    seen = model_server.seen[0]
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == SECRET
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert seen.body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 32_000,
        "stream": True,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]},
        ],
    }


async def test_three_things_are_marked_for_the_cache_and_the_volatile_part_comes_after(
    model_server: ModelServer,
) -> None:
    model_server.script("Hi.")
    await ask(claude(model_server), system="You are an agent.", volatile="Date: today", tools=TOOLS)
    sent = model_server.requests[0]
    assert sent["system"] == [{"type": "text", "text": "You are an agent.", "cache_control": MARK}]
    assert sent["messages"][-1]["content"][-2:] == [
        {"type": "text", "text": "hi", "cache_control": MARK},
        {"type": "text", "text": "Date: today"},
    ]
    assert [tool.get("cache_control") for tool in sent["tools"]] == [None, MARK]
    assert sent["tools"][0] == {"name": "Bash", "description": "Run a command.", "input_schema": TOOLS[0].input_schema}
    assert "tool_choice" not in sent


async def test_the_last_two_messages_of_the_person_are_marked_and_no_more_than_four_things_in_all(
    model_server: ModelServer,
) -> None:
    model_server.script("Done.")
    messages = [user("first"), CALLED, ANSWERED, Message("assistant", ({"type": "text", "text": "ok"},)), user("next")]
    await ask(claude(model_server), *messages, system="s", volatile="v", tools=TOOLS)
    sent = model_server.requests[0]
    marked = ["cache_control" in json.dumps(message) for message in sent["messages"]]
    assert marked == [False, False, True, False, True]
    assert model_server.seen[0].raw.count(b'"cache_control"') == 4


async def test_a_message_is_serialised_once_in_its_life(model_server: ModelServer) -> None:
    model_server.script("One.", "Two.")
    provider, message, kept = claude(model_server), user("hello"), []
    for _ in range(2):
        async for _event in provider.stream(Request([message], tools=TOOLS)):
            pass
        kept.append((message.wire["anthropic"], provider._tools[1]))
    first = message.wire["anthropic"]
    assert dialect.wire(message) is first
    assert kept[0][0] is kept[1][0]
    assert kept[0][1] is kept[1][1], "the tools are serialised once per tuple"
    assert b"cache_control" not in first, "the mark belongs to a request, not to the message"
    await provider.close()
    assert model_server.requests[0] == model_server.requests[1]


async def test_the_requests_of_a_conversation_share_a_prefix_byte_for_byte(model_server: ModelServer) -> None:
    model_server.script("One.", "Two.")
    provider, history = claude(model_server), [user("first")]
    for words in ("second", ""):
        async for _event in provider.stream(Request(history, system="s", tools=TOOLS)):
            pass
        history += [Message("assistant", ({"type": "text", "text": "One."},)), user(words)]
    await provider.close()
    first, second = (seen.raw.replace(b',"cache_control":{"type":"ephemeral"}', b"") for seen in model_server.seen)
    assert second.startswith(first.removesuffix(b"]}"))


async def test_what_the_service_would_refuse_is_left_out(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    foreign = {"type": "thinking", "thinking": "another service's reasoning"}
    empty = {"type": "text", "text": "  \n"}
    await ask(
        claude(model_server),
        user("hi"),
        Message("assistant", (foreign, {"type": "text", "text": "yes"})),
        Message("assistant", (foreign,)),
        Message("user", (empty, {"type": "text", "text": "go on"})),
    )
    sent = [[block["type"] for block in message["content"]] for message in model_server.requests[0]["messages"]]
    assert sent == [["text"], ["text"], ["text"]]


async def test_ids_of_another_service_are_made_fit(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    asked = Message("assistant", ({"type": "tool_use", "id": "functions.Read:0", "name": "Read", "input": {}},))
    told = Message("user", ({"type": "tool_result", "tool_use_id": "functions.Read:0", "content": "x"},))
    await ask(claude(model_server), user("hi"), asked, told)
    sent = model_server.requests[0]["messages"]
    assert sent[1]["content"][0]["id"] == sent[2]["content"][0]["tool_use_id"] == "functions_Read_0"


async def test_lone_surrogates_and_big_numbers_do_not_stop_a_request(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    odd = Message("assistant", ({"type": "tool_use", "id": "t", "name": "n", "input": {"a": "\ud83d", "b": 2**80}},))
    await ask(claude(model_server), user("hi"), odd)
    assert model_server.requests[0]["messages"][1]["content"][0]["input"]["b"] == 2**80


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("any", {"type": "any"}), ("none", {"type": "none"}), ("Bash", {"type": "tool", "name": "Bash"})],
)
async def test_the_choice_of_a_tool(model_server: ModelServer, choice: str, sent: dict) -> None:
    model_server.script("Hi.")
    await ask(claude(model_server), tools=TOOLS, tool_choice=choice)
    assert model_server.requests[0]["tool_choice"] == sent


async def test_thinking_and_further_fields_are_passed_on(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    more = {"output_config": {"effort": "high"}, "messages": "not this"}
    await ask(claude(model_server), thinking_tokens=100, extra=more)
    sent = model_server.requests[0]
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 1024}
    assert sent["output_config"] == {"effort": "high"}
    assert isinstance(sent["messages"], list)


async def test_a_token_for_a_gateway_is_a_bearer(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    await ask(AnthropicProvider("m", Key(SECRET, "bearer"), f"{model_server.url}/v1/", patience=QUICK))
    seen = model_server.seen[0]
    assert seen.path == "/v1/messages"
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert "x-api-key" not in seen.headers


# -- what a refusal teaches -------------------------------------------------------------------------------------------


def refusal(message: str):
    return status(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})


async def test_a_model_with_a_lower_limit_gets_its_limit(model_server: ModelServer) -> None:
    said = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3"
    model_server.script(refusal(said), "Hi.", "Again.")
    provider = claude(model_server)
    for _ in range(2):
        async for _event in provider.stream(Request([user("hi")])):
            pass
    await provider.close()
    assert [sent["max_tokens"] for sent in model_server.requests] == [32_000, 8192, 8192]


async def test_an_answer_gets_the_room_that_is_left(model_server: ModelServer) -> None:
    said = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length"
    model_server.script(refusal(said), "Hi.")
    assert prose(await ask(claude(model_server))) == "Hi."
    assert [sent["max_tokens"] for sent in model_server.requests] == [32_000, 10_000]


async def test_a_model_that_thinks_adaptively_is_asked_so(model_server: ModelServer) -> None:
    said = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
    model_server.script(refusal(said), "Hi.")
    await ask(claude(model_server), thinking_tokens=5000)
    assert [sent["thinking"]["type"] for sent in model_server.requests] == ["enabled", "adaptive"]


async def test_a_model_that_does_not_think_is_not_asked_to(model_server: ModelServer) -> None:
    model_server.script(refusal("thinking is not supported by this model"), "Hi.")
    await ask(claude(model_server), thinking_tokens=5000)
    assert "thinking" not in model_server.requests[1]


async def test_a_gateway_without_cache_gets_no_marks(model_server: ModelServer) -> None:
    model_server.script(refusal("system.0.cache_control: Extra inputs are not permitted"), "Hi.")
    await ask(claude(model_server), system="s", tools=TOOLS)
    assert b"cache_control" not in model_server.seen[1].raw
    assert model_server.requests[1]["tools"][1]["name"] == "Read"


async def test_a_refusal_that_teaches_nothing_is_an_error_at_once(model_server: ModelServer) -> None:
    model_server.script(refusal("messages: roles must alternate"))
    _, error = await ask_and_fail(claude(model_server))
    assert "roles must alternate" in str(error)


# -- what comes -------------------------------------------------------------------------------------------------------


async def test_a_whole_turn_in_events_and_blocks(model_server: ModelServer) -> None:
    model_server.script([
        thinking("I should look.", signature="c2ln"),
        redacted("b3BhcXVl"),
        text("I list."),
        call("Bash", {"command": "ls -l"}, id="toolu_9"),
    ])  # fmt: skip
    events = await ask(claude(model_server))
    assert events[0] == MessageStart("claude-sonnet-5-5")
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "I should look."
    assert ToolUseBegin("toolu_9", "Bash") in events
    assert "".join(event.json for event in events if isinstance(event, ToolUseDelta)) == '{"command": "ls -l"}'
    assert calls(events) == [ToolUseEnd("toolu_9", "Bash", {"command": "ls -l"})]
    assert blocks(events) == [
        {"type": "thinking", "thinking": "I should look.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I list."},
        {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {"command": "ls -l"}},
    ]
    assert end(events).stop_reason == "tool_use"


async def test_what_came_goes_back_unchanged(model_server: ModelServer) -> None:
    model_server.script([thinking("Hm.", signature="c2ln"), redacted("b3A="), text("Yes.")], "Done.")
    provider = claude(model_server)
    events = [event async for event in provider.stream(Request([user("hi")]))]
    history = [user("hi"), Message("assistant", tuple(blocks(events))), user("go on")]
    async for _event in provider.stream(Request(history)):
        pass
    await provider.close()
    assert model_server.requests[1]["messages"][1]["content"] == blocks(events)


async def test_our_events_agree_with_the_official_client(model_server: ModelServer) -> None:
    played = turn(
        thinking("Let me see.", signature="c2ln"),
        text("Zwei Dateien: a.py, b.py, naïve 日本語 😀"),
        call("Read", {"path": 'naïve\n\t\\ "😀".py', "limit": 3, "deep": {"a": [1, None, True]}}, id="toolu_1"),
        usage={"input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 11},
    )
    model_server.script(played, played)
    events = await ask(claude(model_server))
    async with anthropic.AsyncAnthropic(base_url=model_server.url, api_key="k") as client:
        asked = client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        async with asked as stream:
            theirs = await stream.get_final_message()
    assert blocks(events) == [block.model_dump(exclude_none=True) for block in theirs.content]
    assert end(events).usage == Usage(7, 11, 5, 3)


async def test_unknown_blocks_are_kept_as_they_came(model_server: ModelServer) -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "x", "url": "u"}]}
    model_server.script([other(search), other(found), other({"type": "hologram", "depth": 3}), text("Seen.")])
    events = await ask(claude(model_server))
    assert blocks(events)[:3] == [search, found, {"type": "hologram", "depth": 3}]
    assert calls(events) == []


async def test_counts_of_message_delta_are_cumulative(model_server: ModelServer) -> None:
    start = {"usage": {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}, "model": "m"}
    model_server.script(frames(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 5, "input_tokens": None}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ))  # fmt: skip
    events = await ask(claude(model_server))
    assert end(events).usage == Usage(input=10, output=9, cache_read=4)
    assert prose(events) == "Hi"


@pytest.mark.parametrize(
    "reason",
    ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"],
)
async def test_every_stop_reason_is_passed_on(model_server: ModelServer, reason: str) -> None:
    model_server.script(turn(text("x"), stop=reason))
    assert end(await ask(claude(model_server))).stop_reason == reason


async def test_a_refusal_brings_its_explanation(model_server: ModelServer) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "This could enable harm."}
    model_server.script(frames(
        {"type": "message_start", "message": {}},
        {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}, "usage": {}},
        {"type": "message_stop"},
    ))  # fmt: skip
    last = end(await ask(claude(model_server)))
    assert (last.stop_reason, last.detail) == ("refusal", "This could enable harm.")


async def test_a_stop_reason_of_a_later_service_ends_the_turn_and_says_so(model_server: ModelServer) -> None:
    model_server.script(turn(text("x"), stop="bored"))
    last = end(await ask(claude(model_server)))
    assert last.stop_reason == "end_turn"
    assert "bored" in last.detail


# -- the arguments of a call ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["", "   ", "{}"])
async def test_no_arguments_are_an_empty_object(model_server: ModelServer, written: str) -> None:
    model_server.script([raw_call("Read", written)])
    assert calls(await ask(claude(model_server)))[0].input == {}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"path": "secret', "invalid_json"),
        ("{'path': 1}", "invalid_json"),
        ('["secret"]', "arguments_not_object (array)"),
        ('"secret"', "arguments_not_object (string)"),
        ("17", "arguments_not_object (number)"),
        ("null", "arguments_not_object (null)"),
        ("true", "arguments_not_object (boolean)"),
        ("[" * 100_000, "invalid_json"),
    ],
)
async def test_broken_arguments_have_a_code_and_are_not_echoed(
    model_server: ModelServer, written: str, problem: str
) -> None:
    model_server.script([raw_call("Read", written, id="t1", chunk=5000)])
    events = await ask(claude(model_server))
    assert calls(events) == [ToolUseEnd("t1", "Read", None, problem)]
    assert blocks(events) == [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]


async def test_a_lone_surrogate_in_the_arguments_is_replaced(model_server: ModelServer) -> None:
    model_server.script([raw_call("Read", '{"path": "a\\ud83d"}')])
    assert calls(await ask(claude(model_server)))[0].input == {"path": "a\N{REPLACEMENT CHARACTER}"}


async def test_arguments_that_come_whole_at_the_start_are_taken(model_server: ModelServer) -> None:
    block = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}
    model_server.script(frames(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ))  # fmt: skip
    events = await ask(claude(model_server))
    assert calls(events)[0].input == {"path": "a"}
    assert end(events).stop_reason == "tool_use"


async def test_a_call_that_max_tokens_cut_is_broken_not_run(model_server: ModelServer) -> None:
    model_server.script(turn(raw_call("Write", '{"path": "a.py", "content": "half'), stop="max_tokens"))
    events = await ask(claude(model_server))
    assert calls(events)[0].problem == "invalid_json"
    assert end(events).stop_reason == "max_tokens"


async def test_several_calls_keep_their_order(model_server: ModelServer) -> None:
    model_server.script([call("Read", {"path": name}) for name in "abc"])
    assert [declared.input["path"] for declared in calls(await ask(claude(model_server)))] == ["a", "b", "c"]


# -- the rest ---------------------------------------------------------------------------------------------------------


async def test_the_models_are_listed(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, {"data": [{"id": "claude-a"}, {"id": "claude-b"}]})
    provider = claude(model_server)
    assert await provider.models() == ["claude-a", "claude-b"]
    await provider.close()


def test_the_label_says_where_a_gateway_is() -> None:
    assert AnthropicProvider("claude-opus-5-5", Key("k")).label == "claude-opus-5-5"
    gateway = AnthropicProvider("claude-opus-5-5", Key("k"), "https://me:pw@gw.example:8443/x")
    assert gateway.label == "claude-opus-5-5 at gw.example:8443"


def test_a_key_is_not_in_a_repr() -> None:
    assert SECRET not in repr(Key(SECRET))
    assert SECRET not in repr(replace(Key(SECRET), style="both"))
