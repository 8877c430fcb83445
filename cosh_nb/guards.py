"""Two guards against a model that is stuck: broken arguments, and the same call again and again."""

from __future__ import annotations

import json
from typing import ClassVar

from cosh_tools.contract import ToolCall, ToolResult


class Malformed:
    """Counts answers with broken arguments in a row; several in one answer count once.

    The payload is never run and never echoed.
    """

    LIMIT: ClassVar[int] = 3

    def __init__(self) -> None:
        self._count = 0
        self._counted = False

    @property
    def gave_up(self) -> bool:
        """Whether it happened LIMIT times in a row."""
        return self._count >= self.LIMIT

    def note(self, tool: str, problem: str) -> ToolResult:
        """The result for a call whose arguments cannot be read."""
        self._count += not self._counted
        self._counted = True
        return ToolResult.error(
            f"The arguments of {_printable(tool)} were not run: {problem} (attempt {self._count}/{self.LIMIT}). "
            "Send one JSON object that fits the tool's schema."
        )

    def next_round(self) -> None:
        """Another answer of the model begins."""
        self._counted = False

    def reset(self) -> None:
        """A call could be read."""
        self._count = 0


class Repeats:
    """Advises when one call came three times in a row."""

    LIMIT: ClassVar[int] = 3

    def __init__(self) -> None:
        self._last, self._count = "", 0

    def advise(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result, with advice where this very call came LIMIT times in a row."""
        mark = call.name + json.dumps(call.input, sort_keys=True, default=str)
        self._count = self._count + 1 if mark == self._last else 1
        self._last = mark
        if self._count < self.LIMIT:
            return result
        return result.with_note(
            f"(This very call came {self._count} times in a row with no change. Try another way, or tell the user "
            "what is missing.)"
        )


def _printable(name: str) -> str:
    clean = "".join(char for char in name if char.isprintable()) or "tool"
    return clean if len(clean) <= 64 else clean[:64] + "…"
