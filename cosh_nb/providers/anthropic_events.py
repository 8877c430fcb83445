"""The events of a Messages stream, as model events. What is not known is skipped, or kept as it came."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from cosh_nb.events import (
    BlockDone,
    MessageEnd,
    MessageStart,
    ModelEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolUseBegin,
    ToolUseDelta,
    ToolUseEnd,
    Usage,
)
from cosh_nb.providers import arguments, faults

_REASONS = frozenset(get_args(StopReason))


@dataclass(slots=True)
class _Open:
    """A block that is not complete. Pieces are joined once, at its end."""

    start: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    citations: list[Any] = field(default_factory=list)


class MessageDecoder:
    """Reads one stream. Nothing is said before the first block, so that an early failure may still be retried."""

    def __init__(self, service: faults.Service) -> None:
        self.complete = False
        self.finished = False
        self._service = service
        self._model = service.model
        self._started = False
        self._blocks: dict[Any, _Open] = {}
        self._called = False
        self._counts: dict[str, int] = {}
        self._reason = ""
        self._detail = ""

    def feed(self, event: dict[str, Any]) -> Sequence[ModelEvent]:
        """What this event means."""
        kind = event.get("type")
        if kind == "content_block_delta":
            block = self._blocks.get(event.get("index"))
            delta = event.get("delta")
            if block is None or not delta:
                return ()
            if delta.get("type") == "text_delta":  # by far the most, decided first
                text = delta["text"]
                if type(text) is not str:
                    raise TypeError("a delta without its text")
                block.parts.append(text)
                return (TextDelta(text),)
            return self._delta(block, delta)
        if self.finished:
            return ()  # nothing counts after the end
        match kind:
            case "message_start":
                message = event.get("message") or {}
                self._model = message.get("model") or self._model
                self._count(message.get("usage"))
                return ()
            case "content_block_start":
                return self._begin(event.get("index"), dict(event.get("content_block") or {}))
            case "content_block_stop":
                block = self._blocks.pop(event.get("index"), None)
                return self._close(block) if block is not None else ()
            case "message_delta":
                delta = event.get("delta") or {}
                self._reason = delta.get("stop_reason") or self._reason
                self._detail = _explained(delta) or self._detail
                self._count(event.get("usage"))
                return ()
            case "message_stop":
                return self._finish()
            case "error":
                raise faults.in_stream(self._service, event)
            case _:
                return ()  # a ping, or what a later service adds

    def end(self) -> Sequence[ModelEvent]:
        """A stream without message_stop is cut, whatever came before."""
        if self.finished:
            return ()
        raise faults.cut(self._service)

    def _start(self) -> list[ModelEvent]:
        if self._started:
            return []
        self._started = True
        return [MessageStart(self._model)]

    def _begin(self, index: Any, start: dict[str, Any]) -> Sequence[ModelEvent]:
        block = self._blocks[index] = _Open(start)
        events = self._start()
        match start.get("type"):
            case "tool_use":
                start["id"] = _text(start, "id") or f"toolu_{uuid.uuid4().hex[:24]}"
                start["name"] = _text(start, "name")
                events.append(ToolUseBegin(start["id"], start["name"]))
            case "text" if text := _text(start, "text"):
                block.parts.append(text)
                events.append(TextDelta(text))
            case "thinking":
                block.signature.append(_text(start, "signature"))
                if text := _text(start, "thinking"):
                    block.parts.append(text)
                    events.append(ThinkingDelta(text))
        return events

    def _delta(self, block: _Open, delta: dict[str, Any]) -> Sequence[ModelEvent]:
        match delta.get("type"):
            case "input_json_delta":
                text = _text(delta, "partial_json")
                block.parts.append(text)
                if block.start.get("type") != "tool_use" or not text:
                    return ()
                return (ToolUseDelta(block.start["id"], text),)
            case "thinking_delta":
                text = _text(delta, "thinking")
                block.parts.append(text)
                return (ThinkingDelta(text),)
            case "signature_delta":
                block.signature.append(_text(delta, "signature"))
            case "citations_delta":
                block.citations.append(delta.get("citation"))
        return ()

    def _close(self, block: _Open) -> Sequence[ModelEvent]:
        start, whole = block.start, "".join(block.parts)
        match start.get("type"):
            case "text":
                done = {name: value for name, value in start.items() if value is not None} | {"text": whole}
                if block.citations:
                    done["citations"] = [*(start.get("citations") or ()), *block.citations]
                return (BlockDone(done),) if whole else ()
            case "thinking":
                return (BlockDone({**start, "thinking": whole, "signature": "".join(block.signature)}),)
            case "tool_use":
                self._called = True
                call_id, name, sent = start["id"], start["name"], start.get("input")
                given, problem = arguments.read(whole) if whole or not isinstance(sent, dict) else (sent, "")
                kept = {**start, "input": given if given is not None else {}}
                return (ToolUseEnd(call_id, name, given, problem), BlockDone(kept))
            case _:
                if whole and "input" in start:
                    start["input"] = arguments.read(whole)[0] or {}
                return (BlockDone(start),) if start.get("type") else ()

    def _finish(self) -> Sequence[ModelEvent]:
        events = self._start()
        for index in list(self._blocks):
            events += self._close(self._blocks.pop(index))
        self.finished = self.complete = True
        reason = self._reason or ("tool_use" if self._called else "end_turn")
        if reason not in _REASONS:
            self._detail = self._detail or f"The service stopped for a reason of its own: {reason}."
            reason = "end_turn"
        events.append(MessageEnd(cast("StopReason", reason), self._usage(), self._detail))
        return events

    def _count(self, usage: Any) -> None:
        """Counts are cumulative: the later one replaces, a missing one leaves."""
        for name, value in (usage or {}).items():
            if isinstance(value, int):
                self._counts[name] = value

    def _usage(self) -> Usage:
        counts = self._counts
        return Usage(
            input=counts.get("input_tokens", 0),
            output=counts.get("output_tokens", 0),
            cache_read=counts.get("cache_read_input_tokens", 0),
            cache_write=counts.get("cache_creation_input_tokens", 0),
        )


def _text(part: dict[str, Any], name: str) -> str:
    """A text of this part; none is an empty one. Raises TypeError for anything else."""
    value = part.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{name} is not a text")
    return value


def _explained(delta: dict[str, Any]) -> str:
    """Why it stopped, in the service's words."""
    details = delta.get("stop_details")
    if not isinstance(details, dict):
        return ""
    if details.get("explanation"):
        return str(details["explanation"])
    category = details.get("category")
    return f"The model declined for a reason of policy ({category}). Put it another way." if category else ""
