"""Whatever a service sends, a provider gives events or a ProviderError: nothing else, and a valid history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosh_nb.errors import ProviderError
from cosh_nb.events import BlockDone, MessageEnd, TextDelta, ThinkingDelta, ToolUseDelta, ToolUseEnd
from cosh_nb.providers.anthropic_events import MessageDecoder
from cosh_nb.providers.attempt import Attempt, Failed, Inbox
from cosh_nb.providers.faults import Service
from cosh_nb.providers.openai_events import ChunkDecoder
from cosh_nb.providers.retry import Patience
from cosh_nb.providers.sse import DONE, dumps

SERVICE = Service("Test", "http://127.0.0.1:1", "m")
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def mostly(*right: Any) -> st.SearchStrategy:
    return st.sampled_from(right) | junk


def objects(**fields: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional=fields)


anthropic_events = objects(
    type=mostly("message_start", "content_block_start", "content_block_delta", "content_block_stop",
                "message_delta", "message_stop", "ping", "error"),
    index=mostly(0, 1),
    message=objects(model=mostly("m"), usage=objects(input_tokens=mostly(1))) | junk,
    content_block=objects(type=mostly("text", "thinking", "tool_use", "other"), id=mostly("t"), name=mostly("n"),
                          text=mostly("x"), thinking=mostly("x"), signature=mostly("s"), input=mostly({})) | junk,
    delta=objects(type=mostly("text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta"),
                  text=mostly("x"), partial_json=mostly("{", "}"), thinking=mostly("x"), signature=mostly("s"),
                  stop_reason=mostly("end_turn", "tool_use"), stop_details=junk) | junk,
    usage=objects(output_tokens=mostly(3)) | junk,
    error=objects(type=mostly("overloaded_error"), message=mostly("m")) | junk,
)  # fmt: skip
function = objects(name=mostly("Read"), arguments=mostly("{", "}", {})) | junk
piece = objects(index=mostly(0, 1), id=mostly("c"), function=function)
openai_events = objects(
    model=mostly("m"),
    usage=objects(prompt_tokens=mostly(3), completion_tokens=mostly(3), prompt_tokens_details=junk) | junk,
    error=junk,
    choices=st.lists(objects(
        finish_reason=mostly("stop", "tool_calls", None),
        delta=objects(
            content=mostly("x", None), reasoning=mostly("x"), refusal=mostly("no"), function_call=function,
            tool_calls=st.lists(piece | junk, max_size=2) | junk,
        ) | junk,
    ) | junk, max_size=2) | junk,
)  # fmt: skip


async def read(decoder: Any, events: list[dict[str, Any]]) -> None:
    """Play the events as frames and check what whoever shows them and whoever keeps them relies on."""
    inbox = Inbox()
    inbox.put(b"".join(b"data: " + (b"[DONE]" if event is DONE else dumps(event)) + b"\n\n" for event in events))
    inbox.close(None)
    attempt, got, failure = Attempt(inbox, decoder, SERVICE, Patience()), [], None
    try:
        while (batch := await attempt.next()) is not None:
            got += batch
    except Failed as failed:
        failure = failed.error
    assert isinstance(failure, ProviderError) if failure is not None else isinstance(got[-1], MessageEnd)
    assert all(isinstance(event.text, str) for event in got if isinstance(event, TextDelta | ThinkingDelta))
    assert all(type(event.id) is type(event.json) is str for event in got if isinstance(event, ToolUseDelta))
    ends = [event for event in got if isinstance(event, ToolUseEnd)]
    declared = [event.block for event in got if isinstance(event, BlockDone) and event.block.get("type") == "tool_use"]
    assert [(event.id, event.name) for event in ends] == [(block["id"], block["name"]) for block in declared]
    assert all(isinstance(block["input"], dict) and block["id"] for block in declared)


DIALECTS = pytest.mark.parametrize(
    ("decoder", "events"),
    [
        pytest.param(MessageDecoder, anthropic_events, id="anthropic"),
        pytest.param(ChunkDecoder, openai_events | st.just(DONE), id="openai"),
    ],
)


@DIALECTS
@given(data=st.data())
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
async def test_a_seeded_slice(decoder: Any, events: Any, data: st.DataObject) -> None:
    await read(decoder(SERVICE), data.draw(st.lists(events, max_size=6)))


async def test_nothing_counts_after_the_end() -> None:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "late"}}
    await read(MessageDecoder(SERVICE), [{"type": "message_stop"}, block, {"type": "error"}])
    late = {"choices": [{"delta": {"content": "late"}}]}
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    await read(ChunkDecoder(SERVICE), [last, DONE, late])


@pytest.mark.slow
@DIALECTS
@given(data=st.data())
@settings(max_examples=4_000, deadline=None, suppress_health_check=list(HealthCheck))
async def test_a_long_run(decoder: Any, events: Any, data: st.DataObject) -> None:
    await read(decoder(SERVICE), data.draw(st.lists(events, max_size=8)))
