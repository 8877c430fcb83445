"""A workspace with the real tools, gate and runner, for tests that call tools as the loop does."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.contract import PermissionMode, ToolCall, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.policy.rules import Rules, parse_rule
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import Runner

NAMES = ("Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "WebSearch")


class Desk:
    """Calls tools in `folder`. The mode allows everything unless another is given; rules hold in every mode."""

    def __init__(
        self,
        folder: Path,
        *,
        mode: PermissionMode = PermissionMode.BYPASS,
        deny: tuple[str, ...] = (),
        ask: tuple[str, ...] = (),
        allow: tuple[str, ...] = (),
        **context: Any,
    ) -> None:
        self.folder = folder
        rules = Rules(*(tuple(parse_rule(text, folder) for text in texts) for texts in (deny, ask, allow)))
        self.ctx = ToolContext(SessionState(folder, folder, mode), **context)
        self.runner = Runner(ToolRegistry(load(name) for name in NAMES), self.ctx, Gate(rules))
        self._ids = (f"call-{number}" for number in itertools.count())

    async def __call__(self, tool: str, /, **given: Any) -> ToolResult:
        """One call on the whole path: validate, gate, execute, trim."""
        return await self.runner.run(ToolCall(next(self._ids), tool, given))

    def file(self, name: str, content: str | bytes) -> Path:
        """A file in the workspace, with its folders."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path
