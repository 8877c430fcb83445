"""What the person's cells printed and showed, as the front end was told: source, streams, rich outputs, tracebacks.

Everything a kernel publishes goes through `session.send`, whichever thread or library it comes from; the ledger looks
at each message there and passes it on. It is bounded in cells and in bytes, and starts with `%load_ext`.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CELLS = 10_000
"""Cells that are remembered; older ones go first."""
STREAM = 200_000
"""Characters of one cell's stdout and stderr: the head and the tail are kept."""
RICH = 2_000_000
"""Characters of one cell's rich outputs."""
ALL = 50_000_000
"""Characters of all cells together; beyond it the oldest outputs go, their sources stay."""

_KINDS = frozenset({"execute_input", "stream", "display_data", "update_display_data", "execute_result", "error",
                    "clear_output", "execute_reply"})  # fmt: skip


_OURS = re.compile(r"\s*%%?cosh\b")


@dataclass(eq=False)
class Ran:
    """One execution. `outputs` in nbformat 4 shape, as they stand now."""

    count: int
    source: str
    started: float
    outputs: list[dict[str, Any]] = field(default_factory=list)
    ended: float | None = None
    status: str = "running"
    size: int = 0
    dropped: bool = False
    """Whether its outputs had to go."""
    clear_next: bool = False
    display_ids: set[str] = field(default_factory=set)

    @property
    def error(self) -> Mapping[str, Any] | None:
        """Its error output, if it failed."""
        return next((output for output in self.outputs if output["output_type"] == "error"), None)


class Ledger:
    """The executions of one kernel, by the id of the request that asked for them."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._send: Any = session.send
        self._lock = threading.Lock()
        self._ran: OrderedDict[str, Ran] = OrderedDict()
        self._shown: dict[str, list[tuple[Ran, dict[str, Any]]]] = {}
        """Outputs that can be updated, by display id."""
        self._total = 0
        session.send = self._tap

    def close(self) -> None:
        """Stop looking."""
        if self._session.__dict__.get("send") == self._tap:
            del self._session.send

    @property
    def kernel_session(self) -> str:
        """The name of this kernel's life: it changes with a restart."""
        return str(self._session.session)

    def __iter__(self) -> Iterator[Ran]:
        """All executions, oldest first, as they are now."""
        with self._lock:
            return iter(list(self._ran.values()))

    def get(self, count: int) -> Ran | None:
        """The latest execution of that number."""
        with self._lock:
            return next((ran for ran in reversed(self._ran.values()) if ran.count == count), None)

    def _tap(
        self, stream: Any, msg_or_type: Any, content: Any = None, parent: Any = None, *more: Any, **kw: Any
    ) -> Any:
        with contextlib.suppress(Exception):  # a look must never stop a message
            self._look(msg_or_type, content, parent)
        return self._send(stream, msg_or_type, content, parent, *more, **kw)

    def _look(self, msg_or_type: Any, content: Any, parent: Any) -> None:
        if isinstance(msg_or_type, Mapping):
            kind, content = msg_or_type.get("msg_type"), msg_or_type.get("content")
            header = msg_or_type.get("parent_header") or {}
        else:
            kind, header = msg_or_type, (parent or {}).get("header") or parent or {}
        if kind not in _KINDS or not isinstance(content, Mapping):
            return
        with self._lock:
            if kind == "execute_input":
                self._begin(str(header.get("msg_id")), content)
                return
            ran = self._ran.get(str(header.get("msg_id")))
            if kind == "update_display_data":
                self._update(content)
            elif ran is not None:
                self._note(ran, kind, content)
                self._bound()

    def _begin(self, msg_id: str, content: Mapping[str, Any]) -> None:
        source = str(content.get("code", ""))
        if _OURS.match(source):
            return  # a turn of the agent: its transcript is kept by the session
        self._ran[msg_id] = Ran(int(content.get("execution_count") or 0), _ends(source, STREAM), time.time())
        self._total += len(source)
        while len(self._ran) > CELLS:
            _, old = self._ran.popitem(last=False)
            self._total -= old.size + len(old.source)
            self._forget(old)

    def _note(self, ran: Ran, kind: str, content: Mapping[str, Any]) -> None:
        match kind:
            case "execute_reply":
                ran.status, ran.ended = str(content.get("status", "ok")), time.time()
            case "clear_output":
                if content.get("wait"):
                    ran.clear_next = True
                else:
                    self._clear(ran)
            case "stream":
                self._fresh(ran)
                self._stream(ran, str(content.get("name", "stdout")), str(content.get("text", "")))
            case "error":
                self._fresh(ran)
                self._add(ran, {"output_type": "error", **_pick(content, "ename", "evalue", "traceback")})
            case "display_data" | "execute_result":
                self._fresh(ran)
                output = {"output_type": kind, **_pick(content, "data", "metadata", "execution_count")}
                self._add(ran, output)
                if display_id := (content.get("transient") or {}).get("display_id"):
                    ran.display_ids.add(str(display_id))
                    self._shown.setdefault(str(display_id), []).append((ran, output))

    def _fresh(self, ran: Ran) -> None:
        if ran.clear_next:
            self._clear(ran)

    def _clear(self, ran: Ran) -> None:
        self._total -= ran.size
        self._forget(ran)
        ran.outputs, ran.size, ran.clear_next = [], 0, False

    def _forget(self, ran: Ran) -> None:
        for display_id in ran.display_ids:
            left = [pair for pair in self._shown.get(display_id, ()) if pair[0] is not ran]
            if left:
                self._shown[display_id] = left
            else:
                self._shown.pop(display_id, None)
        ran.display_ids.clear()

    def _stream(self, ran: Ran, name: str, text: str) -> None:
        last = ran.outputs[-1] if ran.outputs else None
        if last is not None and last["output_type"] == "stream" and last["name"] == name:
            before = len(last["text"])
            last["text"] = _ends(last["text"] + text, STREAM)
            self._grow(ran, len(last["text"]) - before)
        else:
            self._add(ran, {"output_type": "stream", "name": name, "text": _ends(text, STREAM)})

    def _add(self, ran: Ran, output: dict[str, Any]) -> None:
        size = _size(output)
        if ran.size + size > RICH + STREAM:
            output = {
                "output_type": "stream",
                "name": "stdout",
                "text": f"[an output of {size:,} characters, not kept]\n",
            }
            size = _size(output)
        ran.outputs.append(output)
        self._grow(ran, size)

    def _update(self, content: Mapping[str, Any]) -> None:
        display_id = str((content.get("transient") or {}).get("display_id"))
        for ran, output in self._shown.get(display_id, ()):
            before = _size(output)
            output["data"] = dict(content.get("data") or {})
            self._grow(ran, _size(output) - before)

    def _grow(self, ran: Ran, size: int) -> None:
        ran.size += size
        self._total += size

    def _bound(self) -> None:
        if self._total <= ALL:
            return
        for ran in self._ran.values():
            if ran.size and ran.ended is not None:
                self._clear(ran)
                ran.dropped = True
            if self._total <= ALL * 0.9:
                return


def _ends(text: str, most: int) -> str:
    """The head and the tail of a long text."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters not kept ...]\n{text[-half:]}"


def _pick(content: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: content[name] for name in names if name in content}


def _size(output: Mapping[str, Any]) -> int:
    data = output.get("data") or {}
    return (
        len(output.get("text", ""))
        + sum(len(str(value)) for value in data.values())
        + sum(len(line) for line in output.get("traceback", ()))
    )
