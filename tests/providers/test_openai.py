"""Chat Completions: what is sent, and what is made of the service's chunks and of its imitators'."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from cosh_nb.errors import ProviderError, StreamCut
from cosh_nb.events import ThinkingDelta, ToolUseBegin, ToolUseDelta, ToolUseEnd, Usage
from cosh_nb.messages import Message, user
from cosh_nb.providers.base import Request
from cosh_nb.providers.faults import Service
from cosh_nb.providers.openai import OpenAIProvider
from cosh_tools.contract import ToolDefinition
from support.asking import SECRET, ask, ask_and_fail, blocks, calls, chat, end, prose
from support.modelserver import ModelServer, call, frames, raw, raw_call, status, text, thinking, turn

TOOLS = (ToolDefinition("Read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),)
PIXEL = base64.b64encode(b"\x89PNG....").decode()
DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def image(data: str = PIXEL) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


# -- what is sent -----------------------------------------------------------------------------------------------------


async def test_headers_and_the_smallest_request(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    await ask(chat(model_server), "hello")
    seen = model_server.seen[0]
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {SECRET}"
    assert seen.body == {
        "model": "gpt-6.1-sol",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 32_000,
        "messages": [{"role": "user", "content": "hello"}],
    }


async def test_a_conversation_with_calls_and_results_in_their_roles(model_server: ModelServer) -> None:
    model_server.script("Done.")
    asked = Message("assistant", (
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "naïve.py"}},
        {"type": "tool_use", "id": "c2", "name": "Read", "input": {}},
    ))  # fmt: skip
    told = Message("user", (
        {"type": "tool_result", "tool_use_id": "c1", "content": "print(1)"},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "no"}], "is_error": True},
        {"type": "text", "text": "And hurry."},
    ))  # fmt: skip
    await ask(chat(model_server), user("look"), asked, told, system="Be brief.", volatile="Today.", tools=TOOLS)
    sent = model_server.requests[0]
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief.\n\nToday."},
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path":"naïve.py"}'}},
            {"id": "c2", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "print(1)"},
        {"role": "tool", "tool_call_id": "c2", "content": "no"},
        {"role": "user", "content": "And hurry."},
    ]  # fmt: skip
    parameters = TOOLS[0].input_schema
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "Read", "description": "Read a file.", "parameters": parameters}}
    ]


async def test_images_of_results_follow_all_results_in_a_message_of_the_person(model_server: ModelServer) -> None:
    model_server.script("Nice.")
    asked = Message("assistant", tuple(
        {"type": "tool_use", "id": name, "name": "Read", "input": {}} for name in ("c1", "c2")
    ))  # fmt: skip
    told = Message("user", (
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a plot"}, image()]},
        {"type": "tool_result", "tool_use_id": "c2", "content": "words"},
    ))  # fmt: skip
    await ask(chat(model_server), user("plot"), asked, told)
    one, two, last = model_server.requests[0]["messages"][2:]
    assert (one["content"], two["content"]) == ("a plot", "words")
    assert last["role"] == "user"
    assert "c1" in last["content"][0]["text"]
    assert last["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}


async def test_pictures_and_documents_of_the_person_are_parts(model_server: ModelServer) -> None:
    model_server.script("Nice.")
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}
    await ask(chat(model_server), user("what is it?", [image(), {"type": "document", "source": source}]))
    parts = model_server.requests[0]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "file", "text"]
    assert parts[1]["file"]["file_data"] == "data:application/pdf;base64,JVBERg=="


async def test_a_message_is_serialised_once(model_server: ModelServer) -> None:
    model_server.script("One.", "Two.")
    provider, message, kept = chat(model_server), user("hi"), []
    for _ in range(2):
        async for _event in provider.stream(Request([message], tools=TOOLS)):
            pass
        kept.append((message.wire["openai"], provider._tools[1]))
    await provider.close()
    assert kept[0][0] is kept[1][0]
    assert kept[0][1] is kept[1][1]


def test_the_service_itself_calls_the_system_a_developer() -> None:
    assert OpenAIProvider("gpt-6.1-sol").quirks["system"] == "developer"
    assert OpenAIProvider("qwen3", base_url="http://127.0.0.1:1/v1").quirks["system"] == "system"


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("any", "required"), ("none", "none"), ("Read", {"type": "function", "function": {"name": "Read"}})],
)
async def test_the_choice_of_a_tool(model_server: ModelServer, choice: str, sent: Any) -> None:
    model_server.script("Hi.")
    await ask(chat(model_server), tools=TOOLS, tool_choice=choice)
    assert model_server.requests[0]["tool_choice"] == sent


async def test_a_base_url_that_is_a_bare_host_gets_its_v1(model_server: ModelServer) -> None:
    model_server.script("Hi.")
    await ask(OpenAIProvider("m", base_url=model_server.url))
    assert model_server.seen[0].path == "/v1/chat/completions"
    assert "authorization" not in model_server.seen[0].headers


# -- what a refusal teaches -------------------------------------------------------------------------------------------


def refusal(message: str, code: int = 400):
    return status(code, {"error": {"message": message, "type": "invalid_request_error"}})


async def test_a_server_that_knows_only_max_tokens_gets_it_from_then_on(model_server: ModelServer) -> None:
    model_server.script(refusal("Unrecognized request argument supplied: max_completion_tokens"), "Hi.", "Again.")
    provider = chat(model_server)
    for _ in range(2):
        async for _event in provider.stream(Request([user("hi")])):
            pass
    await provider.close()
    sent = [{key for key in body if "tokens" in key} for body in model_server.requests]
    assert sent == [{"max_completion_tokens"}, {"max_tokens"}, {"max_tokens"}]


async def test_a_small_window_gets_no_limit_at_all(model_server: ModelServer) -> None:
    said = "'max_completion_tokens' is too large: 32000. This model's maximum context length is 8192 tokens"
    model_server.script(refusal(said), "Hi.")
    assert prose(await ask(chat(model_server))) == "Hi."
    assert not {key for key in model_server.requests[1] if "tokens" in key}


async def test_a_conversation_that_is_too_long_without_any_limit_is_an_overflow(model_server: ModelServer) -> None:
    said = "This model's maximum context length is 8192 tokens, your messages and the completion need 9000."
    model_server.script(refusal(said), refusal(said))
    _, error = await ask_and_fail(chat(model_server))
    assert type(error).__name__ == "ContextOverflow"
    assert len(model_server.requests) == 2


async def test_a_server_without_stream_options(model_server: ModelServer) -> None:
    model_server.script(refusal("Extra inputs are not permitted: stream_options", 422), "Hi.")
    await ask(chat(model_server))
    assert "stream_options" not in model_server.requests[1]


async def test_a_service_that_wants_its_reasoning_back_gets_it(model_server: ModelServer) -> None:
    said = "The reasoning_content in the thinking mode must be passed back to the API."
    model_server.script([thinking("Hm."), call("Read", {}, id="c1")], refusal(said), "Done.")
    provider = chat(model_server, model="deepseek-v4-pro")
    first = [event async for event in provider.stream(Request([user("hi")]))]
    answer = Message("user", ({"type": "tool_result", "tool_use_id": "c1", "content": "x"},))
    history = [user("hi"), Message("assistant", tuple(blocks(first))), answer]
    async for _event in provider.stream(Request(history)):
        pass
    await provider.close()
    assert "reasoning_content" not in model_server.requests[1]["messages"][1]
    assert model_server.requests[2]["messages"][1]["reasoning_content"] == "Hm."


# -- what comes -------------------------------------------------------------------------------------------------------


async def test_a_whole_turn_in_events_and_blocks(model_server: ModelServer) -> None:
    model_server.script([thinking("Hm."), text("I look."), call("Read", {"path": "a"}), call("Read", {"path": "b"})])
    events = await ask(chat(model_server))
    assert events[0].kind == "message_start"
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Hm."
    assert prose(events) == "I look."
    assert [declared.input for declared in calls(events)] == [{"path": "a"}, {"path": "b"}]
    assert [block["type"] for block in blocks(events)] == ["thinking", "text", "tool_use", "tool_use"]
    assert end(events).stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal"), ("tool_calls", "end_turn")],
)
async def test_reasons_to_stop(model_server: ModelServer, finish: str, reason: str) -> None:
    model_server.script(turn(text("x"), stop=finish))
    assert end(await ask(chat(model_server))).stop_reason == reason


async def test_a_reason_nobody_knows_is_told(model_server: ModelServer) -> None:
    model_server.script(turn(text("x"), stop="insufficient_system_resource"))
    assert "insufficient_system_resource" in end(await ask(chat(model_server))).detail


async def test_tokens_from_the_cache_are_counted_apart(model_server: ModelServer) -> None:
    counts = {"prompt_tokens": 100, "completion_tokens": 7}
    counts |= {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10}}
    last = {"choices": [], "usage": counts}
    model_server.script(frames(chunk({"content": "x"}), chunk({}, "stop"), last, DONE))
    assert end(await ask(chat(model_server))).usage == Usage(input=30, output=7, cache_read=60, cache_write=10)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([chunk({"content": "Hi"}), chunk({}, "stop"), DONE], id="no usage"),
        pytest.param([chunk({"content": "Hi"}), chunk({}, "stop")], id="no [DONE]"),
        pytest.param([chunk({"content": "Hi"}, "stop"), DONE], id="the reason with the last word"),
        pytest.param([chunk({"content": "Hi"}, "stop", usage={"prompt_tokens": 1})], id="usage with the last word"),
        pytest.param([chunk({"content": None}), chunk({"content": "Hi"}), chunk({"content": None}, "stop")], id="null"),
        pytest.param([chunk({"content": "Hi", "tool_calls": None}), chunk({"tool_calls": []}, "stop")], id="no calls"),
        pytest.param([chunk({"content": [{"type": "text", "text": "Hi"}]}), chunk({}, "stop")], id="parts"),
        pytest.param([{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}], id="a whole message"),
        pytest.param([{"choices": [], "prompt_filter_results": []}, chunk({"content": "Hi"}, "stop")], id="aside"),
        pytest.param([b": OPENROUTER PROCESSING\n\n", chunk({"content": "Hi"}, "stop"), DONE], id="comments"),
    ],
)
async def test_sloppy_streams_of_prose_are_understood(model_server: ModelServer, events: list) -> None:
    model_server.script(frames(*events))
    got = await ask(chat(model_server))
    assert prose(got) == "Hi"
    assert blocks(got) == [{"type": "text", "text": "Hi"}]
    assert end(got).stop_reason == "end_turn"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_has_two_names(model_server: ModelServer, field: str) -> None:
    model_server.script(frames(chunk({field: "Hm."}), chunk({"content": "Hi"}), chunk({}, "stop"), DONE))
    events = await ask(chat(model_server))
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["Hm."]
    assert blocks(events) == [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hi"}]


READ = {"name": "Read", "arguments": '{"path":"a"}'}
LAST = chunk({}, "tool_calls")


def piece(arguments: Any = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk with a piece of one call."""
    return chunk({"tool_calls": [{**more, "function": {"name": name, "arguments": arguments}}]})


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([chunk({"tool_calls": [{"index": 0, "id": "c1", "function": READ}]}, "tool_calls")], id="whole"),
        pytest.param([chunk({"tool_calls": [{"id": "c1", "function": READ}]}), chunk({}, "stop")], id="no index"),
        pytest.param([piece({"path": "a"}, "Read", index=0, id="c1"), LAST], id="arguments as an object"),
        pytest.param(
            [piece(None, "Read", index=0, id="c1"), piece('{"path"', index=0), piece(':"a"}', index=0), LAST],
            id="in pieces",
        ),
        pytest.param([piece('{"path"', "Read", id="c1"), piece(':"a"}'), LAST], id="in pieces without index"),
        pytest.param(
            [piece('{"path"', "Read", index=0, id="c1"), piece(':"a"}', "Read", index=0, id="c1"), LAST],
            id="name and id in every piece",
        ),
        pytest.param([piece('{"path"', index=0, id="c1"), piece(':"a"}', "Read", index=0), LAST], id="a late name"),
    ],
)
async def test_sloppy_calls_are_understood(model_server: ModelServer, events: list) -> None:
    model_server.script(frames(*events, DONE))
    got = await ask(chat(model_server), tools=TOOLS)
    assert calls(got) == [ToolUseEnd("c1", "Read", {"path": "a"})]
    assert blocks(got) == [{"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "a"}}]
    assert "".join(event.json for event in got if isinstance(event, ToolUseDelta)).replace(" ", "") == '{"path":"a"}'
    assert sum(isinstance(event, ToolUseBegin) for event in got) == 1
    assert end(got).stop_reason == "tool_use"


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([{"index": 0, "id": "a"}, {"index": 1, "id": "b"}], id="by index"),
        pytest.param([{"index": 0, "id": "a"}, {"index": 0, "id": "b"}], id="all with index 0"),
        pytest.param([{"id": "a"}, {"id": "b"}], id="by id"),
        pytest.param([{}, {}], id="neither id nor index"),
        pytest.param([{"index": 0}, {"index": 1}], id="no id"),
        pytest.param([{"index": 0, "id": "same"}, {"index": 1, "id": "same"}], id="one id for both"),
        pytest.param([{"index": 0, "id": ""}, {"index": 1, "id": None}], id="empty ids"),
    ],
)
@pytest.mark.parametrize("together", [True, False])
async def test_two_calls_stay_two(model_server: ModelServer, pieces: list[dict], together: bool) -> None:
    whole = [
        {**piece, "function": {"name": "Read", "arguments": json.dumps({"path": name})}}
        for piece, name in zip(pieces, "ab", strict=True)
    ]
    sent = [chunk({"tool_calls": whole})] if together else [chunk({"tool_calls": [one]}) for one in whole]
    model_server.script(frames(*sent, chunk({}, "tool_calls"), DONE))
    declared = calls(await ask(chat(model_server)))
    assert [one.input for one in declared] == [{"path": "a"}, {"path": "b"}]
    assert len({one.id for one in declared}) == 2
    assert all(one.id for one in declared)


async def test_pieces_of_two_calls_may_be_mixed(model_server: ModelServer) -> None:
    model_server.script(frames(
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "Read", "arguments": '{"path":'}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "Read", "arguments": '{"path":'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"1"}'}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": '"2"}'}}]}),
        chunk({}, "tool_calls"),
        DONE,
    ))  # fmt: skip
    declared = calls(await ask(chat(model_server)))
    assert [(one.id, one.input) for one in declared] == [("a", {"path": "1"}), ("b", {"path": "2"})]


async def test_the_old_function_call_is_a_call(model_server: ModelServer) -> None:
    model_server.script(frames(
        chunk({"function_call": {"name": "Read", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"path":"a"}'}}),
        chunk({}, "function_call"),
    ))  # fmt: skip
    events = await ask(chat(model_server))
    assert calls(events)[0].input == {"path": "a"}
    assert end(events).stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("written", "given", "problem"),
    [("", {}, ""), ('{"a', None, "invalid_json"), ("[1]", None, "arguments_not_object (array)")],
)
async def test_broken_arguments_have_a_code(
    model_server: ModelServer, written: str, given: dict | None, problem: str
) -> None:
    model_server.script([raw_call("Read", written)])
    events = await ask(chat(model_server))
    assert (calls(events)[0].input, calls(events)[0].problem) == (given, problem)
    assert blocks(events)[0]["input"] == {}


async def test_a_call_without_a_name_is_an_error_and_declares_nothing(model_server: ModelServer) -> None:
    nameless = {"index": 0, "id": "c", "function": {"arguments": "{}"}}
    model_server.script(frames(chunk({"content": "I call."}), chunk({"tool_calls": [nameless]}, "tool_calls"), DONE))
    events, error = await ask_and_fail(chat(model_server))
    assert "without a name" in str(error)
    assert calls(events) == []


async def test_a_stream_without_a_reason_to_stop_is_cut(model_server: ModelServer) -> None:
    model_server.script(frames(chunk({"content": "Hi"}), DONE))
    events, error = await ask_and_fail(chat(model_server))
    assert prose(events) == "Hi"
    assert isinstance(error, StreamCut)


async def test_a_server_that_keeps_the_line_open_after_the_end_is_not_waited_for(model_server: ModelServer) -> None:
    played = turn(text("Hi."), stall_after=3)
    model_server.script(played)
    events = await ask(chat(model_server))
    assert prose(events) == "Hi."
    assert end(events).stop_reason == "end_turn"


async def test_a_connection_torn_after_the_answer_was_complete_does_not_matter(model_server: ModelServer) -> None:
    model_server.script(turn(text("Hi."), drop_after=3))
    events = await ask(chat(model_server))
    assert prose(events) == "Hi."
    assert end(events).stop_reason == "end_turn"


async def test_an_error_chunk_after_a_word(model_server: ModelServer) -> None:
    model_server.script(frames(chunk({"content": "Hi"}), {"error": {"message": "GPU fell off", "code": 500}}))
    events, error = await ask_and_fail(chat(model_server))
    assert prose(events) == "Hi"
    assert "GPU fell off" in str(error)
    assert error.status == 500


async def test_a_refusal_field_is_shown_and_ends_as_a_refusal(model_server: ModelServer) -> None:
    model_server.script(frames(chunk({"refusal": "I can't help with that."}), chunk({}, "stop"), DONE))
    events = await ask(chat(model_server))
    assert prose(events) == "I can't help with that."
    assert end(events).stop_reason == "refusal"


async def test_a_model_that_ollama_does_not_have_can_be_pulled(model_server: ModelServer) -> None:
    model_server.script(status(404, {"error": {"message": "model 'qwen9' not found"}}))
    ollama = Service("Ollama", f"{model_server.url}/v1")
    _, error = await ask_and_fail(chat(model_server, model="qwen9", service=ollama))
    assert "ollama pull qwen9" in str(error)


# -- the rest ---------------------------------------------------------------------------------------------------------


async def test_the_models_are_listed(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, {"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "x"}]})
    provider = chat(model_server)
    assert await provider.models() == ["qwen3:8b", "x"]
    await provider.close()


async def test_a_list_that_is_a_web_page_is_an_error_in_words(model_server: ModelServer) -> None:
    model_server.routes["GET /v1/models"] = (200, "<html>")
    provider = OpenAIProvider("m", base_url=f"{model_server.url}/elsewhere")
    with pytest.raises(ProviderError, match="no model service"):
        await provider.models()
    await provider.close()


def test_the_label_says_whose_model_it_is() -> None:
    assert OpenAIProvider("gpt-6.1-sol").label == "gpt-6.1-sol"
    assert OpenAIProvider("m", base_url="http://teacher.school:8000/v1").label == "m at teacher.school:8000"
    ollama = Service("Ollama", "http://127.0.0.1:11434/v1")
    assert OpenAIProvider("qwen3:8b", service=ollama).label == "qwen3:8b (Ollama)"


async def test_an_answer_that_is_json_and_no_stream_says_so(model_server: ModelServer) -> None:
    model_server.script(raw(b'{"choices": []}', content_type="application/json"))
    _, error = await ask_and_fail(chat(model_server))
    assert "instead of a model's stream" in str(error)
