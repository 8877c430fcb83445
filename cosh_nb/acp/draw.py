"""Events of a turn as session updates: prose, thoughts, tool calls with their state, the plan."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from acp import helpers as h
from acp.schema import PlanEntry, ToolCallLocation, ToolKind

from cosh_nb import events as e
from cosh_nb.messages import Message
from cosh_tools.names import canonical
from cosh_tools.results import ToolResult

SHOWN = 20_000
"""Characters of a result that a client gets to show; the model gets all of it."""
TAIL = 4_000
"""Characters of live output that are shown while a call runs."""
EVERY = 0.25
"""Seconds between two updates of live output."""

_KINDS: Mapping[str, ToolKind] = {
    "Bash": "execute",
    "Edit": "edit",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
    "Glob": "search",
    "Grep": "search",
    "ListMcpResources": "read",
    "NotebookEdit": "edit",
    "NotebookRead": "read",
    "NotebookRun": "execute",
    "PowerShell": "execute",
    "Python": "execute",
    "Read": "read",
    "ReadMcpResource": "read",
    "TodoWrite": "think",
    "Variables": "read",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Write": "edit",
}
_PATHS = ("file_path", "path", "notebook_path")


def kind(tool: str) -> ToolKind:
    """What a client paints the call as."""
    return _KINDS.get(canonical(tool), "other")


def locations(given: Mapping[str, Any], working_dir: Path) -> list[ToolCallLocation] | None:
    """The file that a call is about, so that an editor can follow."""
    for name in _PATHS:
        if isinstance(path := given.get(name), str) and path:
            return [ToolCallLocation(path=str(working_dir / Path(path).expanduser()))]
    return None


def content(tool: str, given: Mapping[str, Any], working_dir: Path) -> list[Any]:
    """What a call would do, as an editor shows it: a change as the two texts."""
    where = locations(given, working_dir)
    if where is not None and canonical(tool) == "Edit" and isinstance(given.get("new_string"), str):
        return [h.tool_diff_content(where[0].path, given["new_string"], str(given.get("old_string") or ""))]
    if where is not None and canonical(tool) == "Write" and isinstance(given.get("content"), str):
        return [h.tool_diff_content(where[0].path, given["content"], _existing(Path(where[0].path)))]
    return []


class Drawing:
    """Follows one session; `feed` yields the updates for an event."""

    def __init__(self, working_dir: Path) -> None:
        self.working_dir = working_dir
        self._live: dict[str, str] = {}
        self._shown: dict[str, float] = {}
        self._open: dict[str, e.ToolUseBegin] = {}

    def feed(self, event: e.Event) -> Iterator[Any]:
        """The updates; none for what clients do not show."""
        match event:
            case e.TextDelta(text=text):
                yield h.update_agent_message_text(text)
            case e.ThinkingDelta(text=text):
                yield h.update_agent_thought_text(text)
            case e.ToolUseBegin(id=call, name=name):
                self._open[call] = event
                yield h.start_tool_call(call, name, kind=kind(name), status="pending")
            case e.ToolUseEnd(id=call, name=name, input=given) if given is not None:
                yield h.update_tool_call(
                    call,
                    raw_input=dict(given),
                    locations=locations(given, self.working_dir),
                    content=content(name, given, self.working_dir) or None,
                )
            case e.ToolStarted(call=call, verb=verb, target=target):
                yield h.update_tool_call(call.id, title=_title(verb, target), status="in_progress")
            case e.ToolProgress(call_id=call, text=text):
                yield from self._progress(call, text)
            case e.ToolFinished(call=call, result=result, verb=verb, target=target):
                yield from self._finished(call.id, result, _title(verb, target))
                if isinstance(todos := result.metadata.get("todos"), list):
                    yield h.update_plan([_entry(todo) for todo in todos])
            case e.Notice(level="warning" | "error", text=text):
                yield h.update_agent_message_text(f"\n\n{text}\n\n")
            case (
                e.ToolUseEnd()
                | e.ToolUseDelta()
                | e.MessageStart()
                | e.MessageDone()
                | e.Waiting()
                | e.TurnStarted()
                | e.TurnEnded()
                | e.ApprovalAsked()
                | e.ApprovalAnswered()
                | e.AgentEvent()
                | e.Notice()
            ):
                pass
            case _:
                assert_never(event)

    def left_open(self, why: str) -> Iterator[Any]:
        """The calls that an interrupt cut: none stays pending."""
        for call in list(self._open):
            yield from self._finished(call, ToolResult.error(why), None)

    def _progress(self, call: str, text: str) -> Iterator[Any]:
        self._live[call] = (self._live.get(call, "") + text)[-TAIL:]
        now = time.monotonic()
        if now - self._shown.get(call, 0.0) >= EVERY:
            self._shown[call] = now
            yield h.update_tool_call(call, content=_text(self._live[call]))

    def _finished(self, call: str, result: ToolResult, title: str | None) -> Iterator[Any]:
        self._live.pop(call, None)
        self._shown.pop(call, None)
        if self._open.pop(call, None) is None:
            return
        kept = None if result.metadata.get("diff") and not result.is_error else _text(result.content)
        yield h.update_tool_call(
            call,
            title=title,
            status="failed" if result.is_error else "completed",
            content=kept,
            raw_output={"content": result.content[:SHOWN], "is_error": result.is_error},
        )


def replay(messages: Sequence[Message]) -> Iterator[Any]:
    """A stored conversation, as a client that loads it shows it."""
    for message in messages:
        for block in message.content:
            match block:
                case {"type": "text", "text": str(text)} if text:
                    update = h.update_user_message_text if message.role == "user" else h.update_agent_message_text
                    yield update(text)
                case {"type": "thinking", "thinking": str(text)} if text:
                    yield h.update_agent_thought_text(text)
                case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict(given)}:
                    yield h.start_tool_call(call, name, kind=kind(name), status="pending", raw_input=given)
                case {"type": "tool_result", "tool_use_id": str(call)}:
                    text = _result_text(block.get("content"))
                    status: Any = "failed" if block.get("is_error") else "completed"
                    yield h.update_tool_call(call, status=status, content=_text(text))
                case _:
                    pass


def _title(verb: str, target: str) -> str:
    first = target.strip().split("\n", 1)[0]
    return f"{verb} {first}".strip()[:200] or "tool"


def _text(text: str) -> list[Any]:
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}\n... ({len(text):,} characters in all)"
    return [h.tool_content(h.text_block(cut))] if cut else []


def _result_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part["text"] for part in value if isinstance(part, Mapping) and part.get("type") == "text")
    return "" if value is None else json.dumps(value)


def _entry(todo: Mapping[str, Any]) -> PlanEntry:
    priority: Any = todo.get("priority") if todo.get("priority") in ("high", "medium", "low") else "medium"
    status: Any = todo.get("status") if todo.get("status") in ("in_progress", "completed") else "pending"
    return h.plan_entry(str(todo.get("content", "")), priority=priority, status=status)


def _existing(path: Path) -> str | None:
    """The text that a write would replace, where it is one that can be shown."""
    try:
        return path.read_text("utf-8") if path.stat().st_size <= 1_000_000 else None
    except (OSError, UnicodeDecodeError):
        return None
