"""The chunks of a Chat Completions stream, as model events, from the service itself and from its many imitations."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from cosh_nb.errors import ProviderError
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
from cosh_nb.providers.sse import DONE

_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


@dataclass(slots=True)
class _Call:
    """A call that is being declared. It begins when its name is known."""

    index: Any
    id: str = ""
    name: str = ""
    sent_id: str = ""
    begun: bool = False
    parts: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)


class ChunkDecoder:
    """Reads one stream. Prose and reasoning are closed when the other begins; calls when the stream ends."""

    def __init__(self, service: faults.Service) -> None:
        self.complete = False
        self.finished = False
        self._service = service
        self._model = service.model
        self._started = False
        self._kind = ""
        self._parts: list[str] = []
        self._calls: list[_Call] = []
        self._reason = ""
        self._refused = False
        self._usage = Usage()

    def feed(self, event: dict[str, Any]) -> Sequence[ModelEvent]:
        """What this chunk means."""
        if event is DONE:
            return self.end()
        choices = event.get("choices")
        if not choices:
            return () if self.finished else self._aside(event)
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message") or {}
        if self._kind == "text" and not choice.get("finish_reason") and not event.get("usage"):
            text = delta.get("content")
            if type(text) is str and text and "tool_calls" not in delta:  # the common chunk, decided first
                self._parts.append(text)
                return (TextDelta(text),)
        if self.finished:
            return ()  # nothing counts after the end
        if event.get("error"):
            return self._aside(event)
        return self._chunk(event, choice, delta)

    def end(self) -> Sequence[ModelEvent]:
        """The stream is over. Without a finish_reason it is cut."""
        if self.finished:
            return ()
        if not self._reason:
            raise faults.cut(self._service)
        events = [*self._start(), *self._close()]
        for call in self._calls:
            events += self._end_call(call)
        reason = _REASONS.get(self._reason, "end_turn")
        if self._calls and reason == "end_turn":
            reason = "tool_use"
        elif not self._calls and reason == "tool_use":
            reason = "end_turn"
        if self._refused:
            reason = "refusal"
        detail = "" if self._reason in _REASONS else f"The service stopped for a reason of its own: {self._reason}."
        self.finished = self.complete = True
        events.append(MessageEnd(reason, self._usage, detail))
        return events

    def _chunk(self, event: dict[str, Any], choice: dict[str, Any], delta: dict[str, Any]) -> list[ModelEvent]:
        self._model = event.get("model") or self._model
        if event.get("usage"):
            self._usage = _usage(event["usage"])
        events: list[ModelEvent] = []
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            events += self._more("thinking", str(thought))
        if text := delta.get("content"):
            events += self._more("text", text if isinstance(text, str) else _joined(text))
        if refusal := delta.get("refusal"):
            self._refused = True
            events += self._more("text", str(refusal))
        calls = delta.get("tool_calls") or []
        if old := delta.get("function_call"):
            calls = [*calls, {"index": 0, "function": old}]
        if calls:
            events += [*self._start(), *self._close()]
        for piece in calls:
            events += self._call(piece)
        if reason := choice.get("finish_reason"):
            self._reason = str(reason)
            self.complete = True
        return events

    def _aside(self, event: dict[str, Any]) -> Sequence[ModelEvent]:
        """A chunk without a choice: usage, an error, or nothing."""
        if event.get("error") or event.get("object") == "error":
            raise faults.in_stream(self._service, event)
        if event.get("usage"):
            self._usage = _usage(event["usage"])
        return ()

    def _start(self) -> list[ModelEvent]:
        if self._started:
            return []
        self._started = True
        return [MessageStart(self._model)]

    def _more(self, kind: str, text: str) -> list[ModelEvent]:
        events = self._start()
        if self._kind != kind:
            events += self._close()
            self._kind = kind
        self._parts.append(text)
        events.append(TextDelta(text) if kind == "text" else ThinkingDelta(text))
        return events

    def _close(self) -> list[ModelEvent]:
        kind, whole = self._kind, "".join(self._parts)
        self._kind, self._parts = "", []
        # A thinking block without a signature: nobody can check it, so only its own dialect sends it back.
        return [BlockDone({"type": kind, kind: whole})] if whole else []

    def _call(self, piece: dict[str, Any]) -> list[ModelEvent]:
        function = piece.get("function") or {}
        call = self._find(piece, str(function.get("name") or ""))
        events: list[ModelEvent] = []
        given = function.get("arguments")
        text = given if isinstance(given, str) else "" if given is None else orjson.dumps(given).decode()
        if not call.begun and call.name:
            call.begun = True
            events.append(ToolUseBegin(call.id, call.name))
            events += [ToolUseDelta(call.id, early) for early in call.waiting]
        if text:
            call.parts.append(text)
            if call.begun:
                events.append(ToolUseDelta(call.id, text))
            else:
                call.waiting.append(text)
        return events

    def _find(self, piece: dict[str, Any], name: str) -> _Call:
        """The call that a piece belongs to: by index, but a new id with a name is a new call whatever its index."""
        index, sent = piece.get("index"), str(piece.get("id") or "")
        last = self._calls[-1] if self._calls else None
        same = [call for call in self._calls if call.index == index] if index is not None else self._calls[-1:]
        call = same[-1] if same else None
        if index is None and sent:
            call = next((known for known in self._calls if known.sent_id == sent), None if name else last)
        if call is not None and name and call.begun and (sent != call.sent_id if sent else index is None):
            call = None
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        if not call.sent_id and sent:
            call.sent_id = sent
        if not call.id or (sent and not call.begun):
            taken = {known.id for known in self._calls if known is not call}
            call.id = sent if sent and sent not in taken else f"call_{uuid.uuid4().hex[:24]}"
        call.name = call.name or name
        return call

    def _end_call(self, call: _Call) -> list[ModelEvent]:
        if not call.name:
            raise ProviderError(
                f"{self._service.name} declared a tool call without a name, so nothing of it was run. "
                "Run the cell again, or choose another model.",
                retryable=True,
            )
        given, problem = arguments.read("".join(call.parts))
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": given if given is not None else {}}
        return [ToolUseEnd(call.id, call.name, given, problem), BlockDone(block)]


def _joined(content: Any) -> str:
    """Content that came as parts."""
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, dict))


def _usage(counts: dict[str, Any]) -> Usage:
    """Prompt tokens include what was cached here; ours do not."""
    details = counts.get("prompt_tokens_details") or {}
    read = details.get("cached_tokens") or counts.get("prompt_cache_hit_tokens") or 0
    written = details.get("cache_write_tokens") or 0
    return Usage(
        input=max(0, (counts.get("prompt_tokens") or 0) - read - written),
        output=counts.get("completion_tokens") or 0,
        cache_read=read,
        cache_write=written,
    )
