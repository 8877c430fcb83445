"""What a model server's script is made of, and its two dialects: Anthropic Messages and OpenAI Chat Completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# -- what a script is made of --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """One content block and the pieces in which it is sent."""

    kind: str
    pieces: tuple[str, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Turn:
    """One answer of the model and what goes wrong in it."""

    blocks: tuple[Block, ...]
    stop: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    delay: float = 0
    pause: float = 0
    drop_after: int | None = None
    cut_after: int | None = None
    stall_after: int | None = None
    inject: tuple[int, bytes] | None = None
    error_after: tuple[int, str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    group: int = 1
    """Events per HTTP chunk."""


@dataclass(frozen=True, eq=False)
class Whole:
    """An answer that is sent as it stands."""

    status: int
    body: bytes
    content_type: str
    headers: Mapping[str, str]
    times: int = 1
    delay: float = 0


Answer = Turn | Whole | str | Sequence[Block]


def text(words: str, chunk: int = 12) -> Block:
    """Prose, `chunk` characters a delta."""
    return Block("text", _cut(words, chunk))


def thinking(words: str, signature: str = "c2lnbmF0dXJl", chunk: int = 12) -> Block:
    """Reasoning with its signature."""
    return Block("thinking", _cut(words, chunk), {"signature": signature})


def redacted(data: str) -> Block:
    """Reasoning that the service keeps to itself."""
    return Block("redacted_thinking", (), {"data": data})


def call(name: str, arguments: Mapping[str, Any], *, id: str = "", chunk: int = 16) -> Block:  # noqa: A002 (the wire's word)
    """A tool call; ids count up where none is given."""
    return raw_call(name, json.dumps(arguments), id=id, chunk=chunk)


def raw_call(name: str, arguments: str, *, id: str = "", chunk: int = 16) -> Block:  # noqa: A002 (the wire's word)
    """A tool call whose arguments are this very text, JSON or not."""
    return Block("tool_use", _cut(arguments, chunk), {"id": id, "name": name})


def other(block: Mapping[str, Any]) -> Block:
    """A block of a type that clients may not know (Anthropic only)."""
    return Block("other", (), block)


def turn(*blocks: Block, **options: Any) -> Turn:
    """One answer; `options` are the fields of Turn."""
    return Turn(tuple(blocks), **options)


def status(
    code: int, body: Any = None, *, headers: Mapping[str, str] | None = None, times: int = 1, delay: float = 0
) -> Whole:
    """An error status, `times` times."""
    kind = {429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error"}.get(code, "api_error")
    what = {"type": "error", "error": {"type": kind, "message": f"scripted {code}"}} if body is None else body
    whole = what.encode() if isinstance(what, str) else json.dumps(what).encode()
    return Whole(code, whole, "application/json", headers or {}, times, delay)


def raw(body: bytes, *, content_type: str = "text/event-stream", code: int = 200) -> Whole:
    """These bytes."""
    return Whole(code, body, content_type, {})


def frames(*events: Mapping[str, Any] | bytes) -> Whole:
    """These events: mappings as `data:` frames (with their `event:` line where they have a type), bytes as they are."""
    return raw(b"".join(event if isinstance(event, bytes) else sse(event) for event in events))


# -- the two dialects ------------------------------------------------------------------------------------------------


def sse(event: Mapping[str, Any], name: str = "") -> bytes:
    """One frame."""
    kind = name or event.get("type", "")
    line = f"event: {kind}\n" if isinstance(kind, str) and kind and "choices" not in event else ""
    return line.encode() + b"data: " + _json(event) + b"\n\n"


def anthropic_events(answer: Turn, model: str, first_id: int, serial: str) -> list[bytes]:
    """The frames of one Messages stream."""
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    usage |= {key: value for key, value in answer.usage.items() if key != "output_tokens"}
    head = {"id": f"msg_{serial}", "type": "message", "role": "assistant", "model": model, "content": []}
    head |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [sse({"type": "message_start", "message": head})]
    call_id = first_id
    for index, block in enumerate(answer.blocks):
        match block.kind:
            case "text":
                start, field_, kind = {"type": "text", "text": ""}, "text", "text_delta"
            case "thinking":
                start, field_, kind = (
                    {"type": "thinking", "thinking": "", "signature": ""},
                    "thinking",
                    "thinking_delta",
                )
            case "tool_use":
                name = block.data["id"] or f"toolu_{call_id:06d}"
                call_id += 1
                start = {"type": "tool_use", "id": name, "name": block.data["name"], "input": {}}
                field_, kind = "partial_json", "input_json_delta"
            case "redacted_thinking":
                start, field_, kind = {"type": "redacted_thinking", "data": block.data["data"]}, "", ""
            case _:
                start, field_, kind = dict(block.data), "", ""
        events.append(sse({"type": "content_block_start", "index": index, "content_block": start}))
        if index == 0:
            events.append(sse({"type": "ping"}))
        deltas = [{"type": kind, field_: piece} for piece in block.pieces]
        if block.kind == "thinking":
            deltas.append({"type": "signature_delta", "signature": block.data["signature"]})
        events += [sse({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
        events.append(sse({"type": "content_block_stop", "index": index}))
    calls = any(block.kind == "tool_use" for block in answer.blocks)
    delta = {"stop_reason": answer.stop or ("tool_use" if calls else "end_turn"), "stop_sequence": None}
    out = answer.usage.get("output_tokens", sum(len(block.pieces) for block in answer.blocks))
    events.append(sse({"type": "message_delta", "delta": delta, "usage": {"output_tokens": out}}))
    events.append(sse({"type": "message_stop"}))
    return events


def openai_events(answer: Turn, model: str, first_id: int, serial: str) -> list[bytes]:
    """The frames of one Chat Completions stream."""
    head = {"id": f"chatcmpl-{serial}", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": model}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse({**head, "choices": [choice]})

    events = [chunk({"role": "assistant", "content": ""})]
    number = 0
    for block in answer.blocks:
        match block.kind:
            case "text":
                events += [chunk({"content": piece}) for piece in block.pieces]
            case "thinking":
                events += [chunk({"reasoning_content": piece}) for piece in block.pieces]
            case "tool_use":
                name = block.data["id"] or f"call_{first_id + number:06d}"
                begin = {"index": number, "id": name, "type": "function"}
                begin |= {"function": {"name": block.data["name"], "arguments": ""}}
                events.append(chunk({"tool_calls": [begin]}))
                events += [
                    chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                    for piece in block.pieces
                ]
                number += 1
            case _:
                raise ValueError(f"a {block.kind} block cannot be said in Chat Completions")
    words = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter"}
    events.append(chunk({}, words.get(answer.stop, answer.stop) or ("tool_calls" if number else "stop")))
    into = answer.usage.get("input_tokens", 100) + answer.usage.get("cache_read_input_tokens", 0)
    out = answer.usage.get("output_tokens", sum(len(block.pieces) for block in answer.blocks))
    usage = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
    usage_details = {"cached_tokens": answer.usage.get("cache_read_input_tokens", 0)}
    events.append(sse({**head, "choices": [], "usage": {**usage, "prompt_tokens_details": usage_details}}))
    events.append(b"data: [DONE]\n\n")
    return events


def _cut(words: str, chunk: int) -> tuple[str, ...]:
    return tuple(words[at : at + chunk] for at in range(0, len(words), chunk))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
