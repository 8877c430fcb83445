"""A session: the history in memory and, line by line, in a file that only its owner reads.

The file is JSON lines: {"type": "session"|"message"|"turn"|"state", ...}. Lines are appended, never rewritten; a
line that was cut by a crash is skipped. On load every tool_use that lost its result gets one.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from cosh_nb.errors import SessionError
from cosh_nb.events import TurnEnded, Usage
from cosh_nb.messages import Message, result_block
from cosh_nb.paths import data_folder
from cosh_tools.results import ToolResult

if TYPE_CHECKING:
    from cosh_nb.compact import Compacted

LOST = "The result of this call was lost: the session ended before it was written."


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list of sessions shows. `updated` in seconds since the epoch."""

    id: str
    file: Path
    updated: float
    title: str
    model: str
    turns: int


@dataclass
class Session:
    """One conversation. It belongs to one kernel: `open` takes its lock, `close` gives it back."""

    id: str
    workspace: Path
    file: Path | None = None
    messages: list[Message] = field(default_factory=list)
    """What was said, as it goes to the model. Append with `add` alone: it also writes."""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    state: dict[str, Any] = field(default_factory=dict)
    """What lasts beside the messages: "tasks", "todos", "read_state"; plain JSON."""
    problem: str = ""
    """Why it is no longer written, as a sentence for the person; whoever tells them clears it."""
    _out: IO[bytes] | None = None
    _lock: Any = None

    @classmethod
    def new(cls, workspace: Path, *, persist: bool = True, session_id: str | None = None) -> Session:
        """An empty session. The file is made with the first line."""
        name = session_id or str(uuid.uuid4())
        return cls(name, workspace, _folder(workspace) / f"{name}.jsonl" if persist else None)

    @classmethod
    def resume(cls, workspace: Path, session_id: str) -> Session:
        """The stored session of that id (or the start of one), repaired.

        Raises SessionError when there is none or another kernel owns it.
        """
        info = _find(workspace, session_id)
        session = cls(info.id, workspace, info.file)
        session._take_lock()
        session._read(info.file)
        return session

    @classmethod
    def read(cls, workspace: Path, session_id: str) -> Session:
        """The stored session to look at or to fork, whoever owns it: it is never written. Raises SessionError."""
        info = _find(workspace, session_id)
        session = cls(info.id, workspace)
        session._read(info.file)
        return session

    def fork(self) -> Session:
        """A new session with the same messages, for a kernel that may not own this one."""
        copy = Session.new(self.workspace)
        copy.state = dict(self.state)
        for message in self.messages:
            copy.add(message)
        return copy

    def add(self, message: Message) -> None:
        """Append a message, in memory first, then on disk."""
        self.messages.append(message)
        self._write({"type": "message", "role": message.role, "content": message.content, "time": time.time()})

    def shorten(self, compacted: Compacted) -> None:
        """Go on with a shorter history. The file keeps the whole one and notes where it was cut."""
        self.messages[:] = compacted.messages
        first = compacted.messages[0].content
        self._write({"type": "compacted", "dropped": compacted.dropped, "first": first, "time": time.time()})

    def end_turn(self, ended: TurnEnded) -> None:
        """Note what a turn cost and how it ended."""
        self.turns += 1
        self.usage += ended.usage
        usage = {name: getattr(ended.usage, name) for name in Usage.__dataclass_fields__}
        self._write({"type": "turn", "reason": ended.reason, "model": ended.model, "cost": ended.cost, "usage": usage})

    def load(self, section: str) -> Any:
        """What was stored under `section` (hosts.TaskHost)."""
        return self.state.get(section)

    def store(self, section: str, value: Any) -> None:
        """Keep a JSON value with the session (hosts.TaskHost)."""
        self.state[section] = value
        self._write({"type": "state", "section": section, "value": value})

    def close(self) -> None:
        """Give back the file and its lock."""
        if self._out is not None:
            self._out.close()
            self._out = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _write(self, line: Mapping[str, Any]) -> None:
        if self.file is None:
            return
        if self._out is None:
            self._open(self.file)
        if self._out is None:
            return
        try:
            self._out.write(orjson.dumps(line, default=str) + b"\n")
            self._out.flush()
        except OSError as error:
            self._only_in_memory(f"The session can no longer be written ({error.strerror}).")

    def _open(self, file: Path) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._take_lock()
            fresh = not file.exists()
            handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            self._only_in_memory(f"The session cannot be stored in {file.parent} ({error.strerror}).")
            return
        self._out = os.fdopen(handle, "ab")
        if fresh:
            self._write({"type": "session", "id": self.id, "workspace": str(self.workspace), "time": time.time()})

    def _only_in_memory(self, why: str) -> None:
        """A full or forbidden disk ends no turn: the messages are kept here, and the person is told once."""
        self.file, self._out = None, None
        self.problem = f"{why} It goes on in memory only; free some space and export what you need."

    def _take_lock(self) -> None:
        if self._lock is not None or self.file is None:
            return
        from filelock import FileLock, Timeout  # loaded when a session is first written

        lock = FileLock(f"{self.file}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise SessionError(
                f"The session {self.id[:8]} is open in another kernel. %cosh /fork {self.id[:8]} continues a copy."
            ) from None
        self._lock = lock

    def _read(self, file: Path) -> None:
        for line in _lines(file):
            self._replay(line)
        self.messages = repair(self.messages)

    def _replay(self, line: Mapping[str, Any]) -> None:
        match line:
            case {"type": "message", "role": "user" | "assistant" as role, "content": list(content)}:
                self.messages.append(Message(role, tuple(content)))
            case {"type": "compacted", "dropped": int(dropped), "first": list(first)}:
                kept = self.messages[dropped:]
                if kept and kept[0].role == "user":
                    kept = kept[1:]  # its words are part of `first`
                self.messages = [Message("user", tuple(first)), *kept]
            case {"type": "turn", "usage": dict(usage)}:
                self.turns += 1
                known = {key: value for key, value in usage.items() if key in Usage.__dataclass_fields__}
                self.usage += Usage(**known)
            case {"type": "state", "section": str(section), "value": value}:
                self.state[section] = value
            case _:
                pass


def sessions(workspace: Path) -> list[SessionInfo]:
    """The stored sessions of a workspace, newest first."""
    found = [info for file in _folder(workspace).glob("*.jsonl") if (info := _info(file)) is not None]
    return sorted(found, key=lambda info: info.updated, reverse=True)


def is_open(info: SessionInfo) -> bool:
    """Whether a kernel owns the session now."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(f"{info.file}.lock", timeout=0):
            return False
    except (Timeout, OSError):
        return True


def repair(messages: Sequence[Message]) -> list[Message]:
    """A history that every service takes: each tool_use answered in the next message, no answer without a call."""
    fixed: list[Message] = []
    for message in messages:
        open_calls = [block["id"] for block in fixed[-1].calls] if fixed and fixed[-1].role == "assistant" else []
        if message.role == "assistant":
            if open_calls:
                fixed.append(_lost(open_calls))
            fixed.append(message)
            continue
        answered = [block for block in message.results if block.get("tool_use_id") in open_calls]
        given = {block["tool_use_id"] for block in answered}
        rest = [block for block in message.content if block.get("type") != "tool_result"]
        missing = [result_block(call, ToolResult.error(LOST)) for call in open_calls if call not in given]
        content = (*answered, *missing, *rest)
        if content == message.content:
            fixed.append(message)
        elif content:
            fixed.append(replace(message, content=content, wire={}))
    if fixed and (calls := [block["id"] for block in fixed[-1].calls]):
        fixed.append(_lost(calls))
    return fixed


def _find(workspace: Path, session_id: str) -> SessionInfo:
    for info in sessions(workspace):
        if info.id.startswith(session_id):
            return info
    raise SessionError(f"There is no session {session_id!r} for this folder. %cosh /sessions lists them.")


def _lost(calls: Sequence[str]) -> Message:
    return Message("user", tuple(result_block(call, ToolResult.error(LOST)) for call in calls))


def _folder(workspace: Path) -> Path:
    digest = hashlib.sha256(os.path.realpath(workspace).encode("utf-8", "surrogateescape")).hexdigest()
    return data_folder() / "sessions" / digest[:24]


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open("rb") as source:
        for line in source:
            try:
                value = orjson.loads(line)
            except ValueError:
                continue  # cut by a crash
            if isinstance(value, dict):
                yield value


def _info(file: Path) -> SessionInfo | None:
    title, model, turns = "", "", 0
    try:
        updated = file.stat().st_mtime
        for line in _lines(file):
            match line:
                case {"type": "message", "role": "user", "content": list(content)} if not title:
                    title = next((block["text"] for block in content if block.get("type") == "text"), "")
                case {"type": "turn"}:
                    turns += 1
                    model = str(line.get("model") or model)
                case _:
                    pass
    except OSError:
        return None
    return SessionInfo(
        file.stem, file, updated, title.strip().splitlines()[0][:80] if title.strip() else "", model, turns
    )


__all__ = ["Session", "SessionInfo", "is_open", "repair", "sessions"]
