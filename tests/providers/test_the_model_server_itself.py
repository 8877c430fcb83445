"""The scripted server is judged by the service's own client, so that our providers are not judged by ourselves."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Any

import anthropic
import pytest

from support.modelserver import ModelServer, call, redacted, status, text, thinking, turn


def messages(server: ModelServer, **more: Any) -> anthropic.types.Message:
    """What the official client makes of the next turn."""
    client = anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=more.pop("max_retries", 0))
    with (
        client,
        client.messages.stream(
            model="claude-sonnet-5-5", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        return stream.get_final_message()


def chat(server: ModelServer) -> list[Any]:
    """The chunks of one Chat Completions stream, read with the standard library."""
    body = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
    request = urllib.request.Request(server.url + "/v1/chat/completions", body)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        frames = answer.read().decode().split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    return [json.loads(frame.removeprefix("data: ")) for frame in frames[:-2]]


def test_the_official_client_reads_text_thinking_and_calls(model_server: ModelServer) -> None:
    model_server.script(
        [thinking("I should look."), redacted("b3BhcXVl"), text("I list."), call("Bash", {"command": "ls -l"})]
    )
    got = messages(model_server)
    assert [block.type for block in got.content] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert got.content[0].thinking == "I should look."
    assert got.content[0].signature == "c2lnbmF0dXJl"
    assert got.content[3].input == {"command": "ls -l"}
    assert got.stop_reason == "tool_use"


def test_the_official_client_retries_a_scripted_overload(model_server: ModelServer) -> None:
    model_server.script(status(529, headers={"retry-after-ms": "1"}, times=2), "At last.")
    assert messages(model_server, max_retries=3).content[0].text == "At last."
    assert len(model_server.requests) == 3


def test_chat_chunks_add_up_to_the_script(model_server: ModelServer) -> None:
    model_server.script([text("Hello, "), text("world."), call("Read", {"path": "a.py"}, id="call_7")])
    chunks = chat(model_server)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hello, world."
    arguments = [piece["function"]["arguments"] for delta in deltas for piece in delta.get("tool_calls", [])]
    assert json.loads("".join(arguments)) == {"path": "a.py"}
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"]["prompt_tokens"] == 100


def test_a_callable_answers_by_what_was_asked(model_server: ModelServer) -> None:
    model_server.answer(lambda request: request["messages"][-1]["content"].upper())
    assert messages(model_server).content[0].text == "HI"


def test_a_request_beyond_the_script_says_so(model_server: ModelServer) -> None:
    with pytest.raises(anthropic.BadRequestError, match="the script has no turn left"):
        messages(model_server)


def test_a_client_that_hangs_up_in_a_stall_is_counted(model_server: ModelServer) -> None:
    model_server.script(turn(text("never finished"), stall_after=3))
    with socket.create_connection(("127.0.0.1", model_server.port)) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        model_server.wait_for(1)
        got = b""
        while b"content_block_delta" not in got and b"ping" not in got:
            got += client.recv(4096)
    model_server.wait_left(1)


def test_a_stalled_turn_goes_on_when_it_is_released(model_server: ModelServer) -> None:
    model_server.script(turn(text("finished after all"), stall_after=3))
    model_server.release()
    assert messages(model_server).content[0].text == "finished after all"
