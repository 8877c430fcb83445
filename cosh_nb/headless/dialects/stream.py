"""Model events back into the events that the Messages service streams, for clients that draw those."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from cosh_nb import events as e


class RawStream:
    """Follows one conversation and says each event in the service's words."""

    def __init__(self) -> None:
        self._index = -1
        self._open = ""
        self._started = False

    def feed(self, event: e.Event) -> Iterator[dict[str, Any]]:
        """The service's events for one of ours; none for what the service does not say."""
        match event:
            case e.MessageStart(model=model):
                yield from self._start(model)
            case e.TextDelta(text=text):
                yield from self._in("text", {"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": text})
            case e.ThinkingDelta(text=text):
                yield from self._in("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                yield self._delta({"type": "thinking_delta", "thinking": text})
            case e.ToolUseBegin(id=call, name=name):
                yield from self._close()
                yield from self._in(call, {"type": "tool_use", "id": call, "name": name, "input": {}})
            case e.ToolUseDelta(json=piece):
                yield self._delta({"type": "input_json_delta", "partial_json": piece})
            case e.ToolUseEnd():
                yield from self._close()
            case e.MessageDone(stop_reason=reason, usage=usage):
                yield from self._close()
                stop = {"stop_reason": reason, "stop_sequence": None}
                counted = {"input_tokens": usage.input, "output_tokens": usage.output}
                yield {"type": "message_delta", "delta": stop, "usage": counted}
                yield {"type": "message_stop"}
                self._started = False
            case e.TurnEnded():
                self._open, self._started = "", False
            case _:
                pass  # what the loop adds has no counterpart on the service's wire

    def _start(self, model: str) -> Iterator[dict[str, Any]]:
        self._index, self._open, self._started = -1, "", True
        message: dict[str, Any] = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        yield {"type": "message_start", "message": message}

    def _in(self, name: str, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not self._started:
            yield from self._start("")
        if self._open == name:
            return
        yield from self._close()
        self._index += 1
        self._open = name
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._open:
            self._open = ""
            yield {"type": "content_block_stop", "index": self._index}
