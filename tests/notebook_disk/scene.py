"""A workspace with notebooks in it, and the tools that act on them through the real path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosh_tools.context import SessionState, ToolContext
from cosh_tools.contract import ToolCall, ToolResult
from cosh_tools.gate import Gate
from cosh_tools.kinds import PermissionMode
from cosh_tools.registry import ToolRegistry, load
from cosh_tools.runner import Runner


@dataclass
class Desk:
    """Calls tools in a folder, with everything allowed."""

    folder: Path
    runner: Runner

    @classmethod
    def at(cls, folder: Path, **context: Any) -> Desk:
        state = SessionState(folder, folder, PermissionMode.BYPASS)
        registry = ToolRegistry(load(name) for name in ("NotebookEdit", "NotebookRead"))
        return cls(folder, Runner(registry, ToolContext(state, **context), Gate()))

    async def call(self, tool: str, notebook: str, **arguments: Any) -> ToolResult:
        return await self.runner.run(ToolCall("call", tool, {"notebook_path": notebook, **arguments}))

    async def read(self, notebook: str, **arguments: Any) -> ToolResult:
        return await self.call("NotebookRead", notebook, **arguments)

    async def edit(self, notebook: str, **arguments: Any) -> ToolResult:
        return await self.call("NotebookEdit", notebook, **arguments)

    def put(self, name: str, data: bytes | Mapping[str, Any]) -> Path:
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, indent=1).encode() + b"\n")
        return path

    def cells(self, name: str) -> list[Any]:
        return list(json.loads((self.folder / name).read_bytes().removeprefix(b"\xef\xbb\xbf"))["cells"])
