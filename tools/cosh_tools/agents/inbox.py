"""Messages between named agents: each has a box, emptied before its next model call."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from cosh_tools.results import ToolError

MAIN = "main"
_MOST = 100


class Inbox:
    """hosts.InboxHost. The main agent always has a box; sub-agents have one for as long as they run."""

    def __init__(self) -> None:
        self._boxes: dict[str, deque[str]] = {MAIN: deque()}

    def open(self, wanted: str) -> str:
        """Give an agent a box; its name, with a number where the name is taken."""
        name, number = wanted, 2
        while name in self._boxes or name == "*":
            name, number = f"{wanted}-{number}", number + 1
        self._boxes[name] = deque()
        return name

    def close(self, name: str) -> None:
        """The agent has ended: nobody can write to it any more."""
        if name != MAIN:
            self._boxes.pop(name, None)

    @property
    def names(self) -> list[str]:
        """Who can be written to."""
        return sorted(self._boxes)

    def send(self, sender: str, to: str, text: str) -> Sequence[str]:
        """Put a message into the box of `to` ("*": of all others); the names that will get it.

        Raises ToolError where nobody of that name is there, or its box is full.
        """
        others = [name for name in self.names if name != sender]
        receivers = others if to == "*" else [to] if to in self._boxes else []
        if not receivers:
            there = ", ".join(others) or "nobody"
            whom = "No other agent is running" if to == "*" else f"No agent named {to!r} is running"
            raise ToolError(f"{whom}, so the message was not sent. There is: {there}.")
        full = [name for name in receivers if len(self._boxes[name]) >= _MOST]
        if full:
            raise ToolError(f"{', '.join(full)} has {_MOST} unread messages. Wait until it reads them.")
        for name in receivers:
            self._boxes[name].append(f"[Message from {sender}:] {text}")
        return receivers

    def drain(self, name: str) -> Sequence[str]:
        """Take all messages for `name`, oldest first."""
        box = self._boxes.get(name)
        if box is None:
            return ()
        taken = list(box)
        box.clear()
        return taken
