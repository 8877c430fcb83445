"""A provider whose answers a test writes down: the loop's counterpart without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cosh_nb import events as e
from cosh_nb.providers.base import Request


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    input: Any
    id: str = ""


@dataclass(frozen=True)
class Broken:
    """A call whose arguments are not a JSON object."""

    name: str
    problem: str = "invalid_json"


@dataclass(frozen=True)
class End:
    reason: e.StopReason


@dataclass(frozen=True)
class Fail:
    error: Exception


@dataclass(frozen=True)
class Hang:
    """The stream stops here until it is cancelled."""


Step = Say | Call | Broken | End | Fail | Hang


@dataclass
class ScriptedProvider:
    """Plays one list of steps per model call; past the end it says "done"."""

    turns: Sequence[Sequence[Step] | Callable[[Request], Sequence[Step]]]
    name: str = "scripted"
    model: str = "scripted-1"
    label: str = "scripted-1"
    requests: list[Request] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, request: Request) -> AsyncIterator[e.ModelEvent]:
        number = len(self.requests)
        self.requests.append(Request(**{**_fields(request), "messages": list(request.messages)}))
        turn = self.turns[number] if number < len(self.turns) else [Say("done")]
        steps = turn(request) if callable(turn) else turn
        reason: e.StopReason = "end_turn"
        yield e.MessageStart(self.model)
        for index, step in enumerate(steps):
            match step:
                case Say(text=text):
                    for piece in text.split(" ") if len(text) < 200 else [text]:
                        yield e.TextDelta(piece + " ")
                    yield e.BlockDone({"type": "text", "text": text})
                case Call(name=name, input=given, id=call_id):
                    call_id = call_id or f"call_{number}_{index}"
                    reason = "tool_use"
                    yield e.ToolUseBegin(call_id, name)
                    yield e.ToolUseDelta(call_id, json.dumps(given))
                    yield e.ToolUseEnd(call_id, name, given)
                    yield e.BlockDone({"type": "tool_use", "id": call_id, "name": name, "input": given})
                case Broken(name=name, problem=problem):
                    call_id = f"call_{number}_{index}"
                    reason = "tool_use"
                    yield e.ToolUseBegin(call_id, name)
                    yield e.ToolUseEnd(call_id, name, None, problem)
                    yield e.BlockDone({"type": "tool_use", "id": call_id, "name": name, "input": {}})
                case End(reason=reason):
                    pass
                case Fail(error=error):
                    raise error
                case Hang():
                    self.hanging.set()
                    await asyncio.Event().wait()
        yield e.MessageEnd(reason, e.Usage(10, 5))

    async def close(self) -> None:
        pass


def _fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in Request.__dataclass_fields__}


def sent_results(request: Request) -> dict[str, str]:
    """The tool results in the last message of a request: id -> text."""
    return {block["tool_use_id"]: block["content"] for block in request.messages[-1].results}
