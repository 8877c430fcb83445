"""Anthropic's Messages API, and the gateways that speak it.

A request body is joined from bytes: each message is serialised once in its life, the tools once per tuple. Three
things are marked for the service's cache: the tools, the stable part of the system prompt, and the history.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import ContextOverflow, ProviderError
from cosh_nb.events import ModelEvent
from cosh_nb.messages import Block, Message
from cosh_nb.providers.addresses import host
from cosh_nb.providers.anthropic_events import MessageDecoder
from cosh_nb.providers.base import Request
from cosh_nb.providers.faults import Service
from cosh_nb.providers.keys import Key
from cosh_nb.providers.retry import PINGED, Patience
from cosh_nb.providers.sse import dumps
from cosh_nb.providers.wire import Wire

if TYPE_CHECKING:
    from cosh_tools.contract import ToolDefinition

BASE_URL = "https://api.anthropic.com"
ANTHROPIC = Service("Anthropic", BASE_URL, "", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
VERSION = "2023-06-01"
DIALECT = "anthropic"

_MARK = b',"cache_control":{"type":"ephemeral"}}'
_MARKABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_OURS = frozenset({"messages", "tools", "stream", "system"})
_BAD_ID = re.compile(r"[^a-zA-Z0-9_-]")
_TOO_MANY = re.compile(r"max_tokens\D{0,5}(\d+) > (\d+)")
_NO_ROOM = re.compile(r"(\d+) \+ (\d+) > (\d+)")


class AnthropicProvider:
    """A model behind the Messages API."""

    name = "anthropic"

    def __init__(
        self,
        model: str,
        key: Key | None = None,
        base_url: str = "",
        *,
        service: Service = ANTHROPIC,
        patience: Patience = PINGED,
        headers: Any = (),
    ) -> None:
        self.model = model
        url = (base_url or service.url).rstrip("/").removesuffix("/v1")
        self.service = replace(service, url=url, model=model)
        self._wire = Wire(self.service, key or Key(), patience, {"anthropic-version": VERSION, **dict(headers)})
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")
        self._joined = _Joined()
        self.quirks: dict[str, Any] = {}
        """What this service or model was found not to take; kept for the requests to come."""

    def joined(self, messages: Sequence[Message], count: int) -> bytes:
        """The first `count` messages as one piece of the request."""
        return self._joined.upto(messages, count)

    @property
    def label(self) -> str:
        """The model, and where it is asked if that is not the service itself."""
        return self.model if self.service.url == BASE_URL else f"{self.model} at {host(self.service.url)}"

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The answer, event by event."""
        return self._wire.events("/v1/messages", _Question(self, request))

    async def models(self) -> list[str]:
        """The models that this key may use, newest first."""
        found = await self._wire.get_json(f"{self.service.url}/v1/models?limit=1000")
        return [str(entry["id"]) for entry in found.get("data", []) if isinstance(entry, dict) and "id" in entry]

    async def close(self) -> None:
        """Give back connections."""
        await self._wire.close()

    def tools(self, tools: tuple[ToolDefinition, ...]) -> bytes:
        """The definitions as a JSON list, the last one marked; kept as long as the tuple is the same object."""
        if self._tools[0] is not tools:
            whole = dumps(
                [
                    {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
                    for tool in tools
                ]
            )
            self._tools = (tools, whole)
        whole = self._tools[1]
        return whole if self.quirks.get("no_cache") else whole[:-2] + _MARK + b"]"


class _Joined:
    """The bytes of a history's beginning, kept from request to request: a long history is not joined anew each time."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Message | None = None
        self.data = bytearray()

    def upto(self, messages: Sequence[Message], count: int) -> bytes:
        """The first `count` messages, joined."""
        if self.count > count or (self.count and messages[self.count - 1] is not self.last):
            self.count, self.last, self.data = 0, None, bytearray()
        for message in messages[self.count : count]:
            if piece := wire(message):
                self.data += b"," + piece if self.data else piece
        self.count, self.last = count, messages[count - 1] if count else None
        return bytes(self.data)


class _Question:
    """One request (wire.Post)."""

    def __init__(self, provider: AnthropicProvider, request: Request) -> None:
        self._provider = provider
        self._request = request
        self._room: int | None = None

    def decoder(self) -> MessageDecoder:
        return MessageDecoder(self._provider.service)

    def body(self) -> bytes:
        request, provider = self._request, self._provider
        most = min(request.max_tokens, provider.quirks.get("max_tokens", request.max_tokens))
        most = min(most, self._room or most)
        head: dict[str, Any] = {"model": provider.model, "max_tokens": most, "stream": True}
        if system := self._system():
            head["system"] = system
        if request.tools and request.tool_choice != "auto":
            head["tool_choice"] = _choice(request.tool_choice)
        if request.thinking_tokens and most > 1024 and "no_thinking" not in provider.quirks:
            adaptive = "adaptive" in provider.quirks
            budget = max(1024, min(request.thinking_tokens, most - 1))
            head["thinking"] = {"type": "adaptive"} if adaptive else {"type": "enabled", "budget_tokens": budget}
        head |= {name: value for name, value in request.extra.items() if name not in _OURS}
        parts = [dumps(head)[:-1]]
        if request.tools:
            parts += [b',"tools":', provider.tools(request.tools)]
        parts += [b',"messages":[', self._messages(), b"]}"]
        return b"".join(parts)

    def amend(self, error: ProviderError) -> bool:
        """Learn from a 400 that names what it does not take. Each lesson is learnt once."""
        if error.status != 400 and not isinstance(error, ContextOverflow):
            return False
        quirks, text = self._provider.quirks, error.detail
        if (found := _NO_ROOM.search(text)) and self._room is None:
            self._room = int(found[3]) - int(found[1])
            return self._room >= 1024
        if (found := _TOO_MANY.search(text)) and quirks.get("max_tokens", int(found[1])) > int(found[2]):
            quirks["max_tokens"] = int(found[2])
            return True
        if "thinking" in text and self._request.thinking_tokens:
            lesson = "adaptive" if "adaptive" in text and "adaptive" not in quirks else "no_thinking"
            if lesson not in quirks:
                quirks[lesson] = True
                return True
        if "cache_control" in text and "no_cache" not in quirks:
            quirks["no_cache"] = True
            return True
        return False

    def _system(self) -> list[dict[str, Any]]:
        request = self._request
        blocks: list[dict[str, Any]] = []
        if request.system:
            blocks.append({"type": "text", "text": request.system})
            if not self._provider.quirks.get("no_cache"):
                blocks[0]["cache_control"] = {"type": "ephemeral"}
        if request.volatile and not self._asks:
            blocks.append({"type": "text", "text": request.volatile})
        return blocks

    @property
    def _asks(self) -> bool:
        """Whether the last message is the person's: then what changes from turn to turn stands behind it."""
        messages = self._request.messages
        return bool(messages) and messages[-1].role == "user" and bool(wire(messages[-1]))

    def _messages(self) -> bytes:
        """The history. The last two messages of the person are marked: a long round of calls still finds its cache.

        What changes from turn to turn comes after the last mark, so that it never costs the cache of what is before it.
        """
        messages, marks = self._request.messages, not self._provider.quirks.get("no_cache")
        asked = [at for at, message in enumerate(messages) if message.role == "user"][-2:]
        start = asked[0] if asked else 0
        parts = [self._provider.joined(messages, start)]
        for at in range(start, len(messages)):
            if not (piece := wire(messages[at])):
                continue
            if marks and at in asked and messages[at].content[-1].get("type") in _MARKABLE:
                piece = piece[:-3] + _MARK + b"]}"
            if at == len(messages) - 1 and self._asks and self._request.volatile:
                piece = piece[:-2] + b"," + dumps({"type": "text", "text": self._request.volatile}) + b"]}"
            parts.append(piece)
        return b",".join(part for part in parts if part)


def wire(message: Message) -> bytes:
    """The message as the service reads it, serialised once; empty where nothing of it may be sent."""
    known = message.wire.get(DIALECT)
    if known is None:
        blocks = [kept for block in message.content if (kept := _sendable(block))]
        known = dumps({"role": message.role, "content": blocks}) if blocks else b""
        message.wire[DIALECT] = known
    return known


def _sendable(block: Block) -> Mapping[str, Any] | None:
    """The block, None where the service would refuse the whole request for it."""
    match block.get("type"):
        case "text":
            return block if str(block.get("text", "")).strip() else None
        case "thinking":
            return block if "signature" in block else None  # another service's reasoning
        case "tool_use" if _BAD_ID.search(block["id"]):
            return {**block, "id": _BAD_ID.sub("_", block["id"])}
        case "tool_result" if _BAD_ID.search(block["tool_use_id"]):
            return {**block, "tool_use_id": _BAD_ID.sub("_", block["tool_use_id"])}
        case _:
            return block


def _choice(choice: str) -> dict[str, str]:
    return {"type": choice} if choice in {"any", "none"} else {"type": "tool", "name": choice}
