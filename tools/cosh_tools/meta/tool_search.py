"""ToolSearch: find tools by words, or by name, and declare those that were held back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from cosh_tools.contract import PermissionLevel, Tool, ToolContext, ToolDefinition, ToolInput, ToolKind, ToolResult
from cosh_tools.names import canonical

_NAME_EQUAL, _NAME_PART = 20, 10
_DESCRIPTION = 5
_KEYWORD_EQUAL, _KEYWORD_PART = 8, 3


class ToolSearchInput(ToolInput):
    """Arguments of ToolSearch."""

    query: str = Field(
        min_length=1,
        description="Words that say what is wanted (+word: must be there), or `select:Name,Other` for tools by name.",
    )
    max_results: int = Field(5, ge=1, le=20, description="How many to show at most.")


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool of the catalogue. A deferred one is not declared to the model yet."""

    definition: ToolDefinition
    keywords: tuple[str, ...]
    deferred: bool

    @property
    def line(self) -> str:
        """Name and the first sentence of its description."""
        first = re.split(r"(?<=[.:])\s", " ".join(self.definition.description.split()), maxsplit=1)[0]
        return f"{self.definition.name}: {first}"


class ToolSearch(Tool[ToolSearchInput]):
    """Reads the catalogue, which holds MCP and other deferred tools too."""

    name = "ToolSearch"
    description = (
        "Find tools by keywords, or by exact name with select:Name. Tools that are found but not declared yet are "
        "declared to you from the next step on."
    )
    kind, permission_level = ToolKind.OTHER, PermissionLevel.NONE
    concurrency_safe = True
    verb = "search tools"
    keywords = ("tool", "find", "search", "discover", "mcp")

    def target(self, call: ToolSearchInput, ctx: ToolContext) -> str:
        """The query."""
        del ctx
        return call.query

    async def execute(self, call: ToolSearchInput, ctx: ToolContext) -> ToolResult:
        """Look them up."""
        entries = [Entry(*each) for each in ctx.catalogue.entries()]
        if call.query.strip().lower().startswith("select:"):
            found, missing = select(call.query.partition(":")[2], entries)
            if not found:
                return _said(f"No matching tools found for: {', '.join(missing)}", found, ctx)
            lines = [entry.line for entry in found]
            return _said("\n".join([*lines, *([f"Not found: {', '.join(missing)}"] if missing else [])]), found, ctx)
        found = search(call.query, entries)[: call.max_results]
        if not found:
            text = f"No tools found matching '{call.query}'. Try broader keywords or use 'select:ToolName'."
            return _said(text, found, ctx)
        lines = [f"Tools matching '{call.query}':", *(entry.line for entry in found)]
        return _said("\n".join([*lines, f"Total tools available: {len(entries)}"]), found, ctx)


def search(query: str, entries: Sequence[Entry]) -> list[Entry]:
    """Those that match, best first; of equal ones the order stays."""
    terms = query.lower().split()
    required = [term[1:] for term in terms if term.startswith("+") and len(term) > 1]
    words = [term.lstrip("+") for term in terms if term.lstrip("+")]
    scored = [
        (sum(_score(word, entry) for word in words), entry)
        for entry in entries
        if all(_score(word, entry) for word in required)
    ]
    return [entry for score, entry in sorted(scored, key=lambda item: -item[0]) if score > 0]


def select(names: str, entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Tools by name, whatever its case, aliases included; and the names that are none."""
    by_name = {entry.definition.name.lower(): entry for entry in entries}
    found: dict[str, Entry] = {}
    missing = []
    for name in (part.strip() for part in names.split(",")):
        entry = by_name.get(name.lower()) or by_name.get(canonical(name).lower())
        if entry is not None:
            found[entry.definition.name] = entry
        elif name:
            missing.append(name)
    return list(found.values()), missing


def _score(term: str, entry: Entry) -> int:
    name = entry.definition.name.lower()
    parts = {name, *name.split("__")}
    score = _NAME_EQUAL if term in parts else _NAME_PART if term in name else 0
    if term in entry.definition.description.lower():
        score += _DESCRIPTION
    for keyword in entry.keywords:
        score += _KEYWORD_EQUAL if keyword.lower() == term else _KEYWORD_PART if term in keyword.lower() else 0
    return score


def _said(text: str, found: Sequence[Entry], ctx: ToolContext) -> ToolResult:
    new = [entry.definition.name for entry in found if entry.deferred]
    if new:
        ctx.catalogue.declare(new)
        text += f"\nDeclared for you from now on: {', '.join(new)}."
    names = [entry.definition.name for entry in found]
    return ToolResult.success(text).with_metadata(tools=names, declared=new, summary=f"{len(names)} found")
