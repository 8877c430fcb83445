"""Our messages as Chat Completions reads them: results in the tool's role, their images with the person's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosh_nb.messages import Block, Message
from cosh_nb.providers.sse import dumps

if TYPE_CHECKING:
    from cosh_tools.contract import ToolDefinition

DIALECT = "openai"
WITH_REASONING = "openai+reasoning"
"""The same with the model's reasoning sent back, for services that insist on it."""


def wire(message: Message, *, reasoning: bool = False) -> bytes:
    """The message as one or several, joined by commas, serialised once; empty where nothing of it can be said."""
    dialect = WITH_REASONING if reasoning else DIALECT
    known = message.wire.get(dialect)
    if known is None:
        told = _assistant(message, reasoning=reasoning) if message.role == "assistant" else _user(message)
        known = b",".join(map(dumps, told))
        message.wire[dialect] = known
    return known


def functions(tools: Sequence[ToolDefinition]) -> bytes:
    """The definitions as a JSON list."""
    return dumps(
        [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in tools
        ]
    )


def _assistant(message: Message, *, reasoning: bool) -> list[dict[str, Any]]:
    calls = [
        {
            "id": block["id"],
            "type": "function",
            "function": {"name": block["name"], "arguments": dumps(block["input"]).decode()},
        }
        for block in message.calls
    ]
    text = message.text
    if not text and not calls:
        return []
    told: dict[str, Any] = {"role": "assistant", "content": text or None}
    if reasoning:
        thoughts = [str(block.get("thinking", "")) for block in message.content if block.get("type") == "thinking"]
        told["reasoning_content"] = "".join(thoughts)
    if calls:
        told["tool_calls"] = calls
    return [told]


def _user(message: Message) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if block.get("type") == "tool_result":
            text, media = _result(block)
            told.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": text})
            if media:
                parts += [{"type": "text", "text": f"From the result of call {block['tool_use_id']}:"}, *media]
        elif part := _part(block):
            parts.append(part)
    if not parts:
        return told
    # Many servers know only a string here; parts are for what is no text.
    plain = all(part["type"] == "text" for part in parts)
    content = "\n\n".join(part["text"] for part in parts) if plain else parts
    return [*told, {"role": "user", "content": content}]


def _result(block: Block) -> tuple[str, list[dict[str, Any]]]:
    content = block.get("content") or ""
    if isinstance(content, str):
        return content, []
    parts = [part for item in content if (part := _part(item))]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n\n".join(texts), [part for part in parts if part["type"] != "text"]


def _part(block: Block) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block["text"]} if block.get("text") else None
        case "image":
            return {"type": "image_url", "image_url": {"url": _url(block["source"])}}
        case "document":
            name = str(block.get("title") or "document.pdf")
            return {"type": "file", "file": {"filename": name, "file_data": _url(block["source"])}}
        case _:
            return None


def _url(source: Mapping[str, Any]) -> str:
    if source.get("type") == "url":
        return str(source["url"])
    return f"data:{source['media_type']};base64,{source['data']}"
