"""Cutting long results for the model. The whole is kept on disk, and the cut says where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosh_tools.hosts import SpillHost
    from cosh_tools.results import ToolResult

COSH_LINES, COSH_BYTES = 1_000, 25_000
CLAUDE_CHARACTERS = 100_000


def trim(result: ToolResult, toolset: str, name: str, spill: SpillHost) -> ToolResult:
    """The result within the toolset's limits, cut at a character boundary."""
    text = result.content
    short = _cosh(text) if toolset == "cosh" else text[:CLAUDE_CHARACTERS]
    if len(short) == len(text):
        return result
    whole = spill.keep(text, name)
    where = f"; the whole output is in {whole}" if whole is not None else ""
    lines = text.count("\n") + (not text.endswith("\n"))
    size = len(text.encode("utf-8", "replace"))
    kept = len(short.encode("utf-8", "replace"))
    note = f"\n... (output truncated: {lines} lines, {size} bytes in all, the first {kept} bytes shown{where})"
    return replace(result, content=short + note)


def _cosh(text: str) -> str:
    lines = text.splitlines(keepends=True)
    short = "".join(lines[:COSH_LINES]) if len(lines) > COSH_LINES else text
    raw = short.encode("utf-8", "replace")
    return short if len(raw) <= COSH_BYTES else raw[:COSH_BYTES].decode("utf-8", "ignore")
