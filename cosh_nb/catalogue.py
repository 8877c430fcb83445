"""Which tools the model is told of. Past LIMIT the others are deferred: ToolSearch finds them and declares them."""

from __future__ import annotations

from collections.abc import Sequence

from cosh_tools.contract import ToolDefinition
from cosh_tools.registry import BUILT_IN, COSH, EVIDENCE, OURS, ToolRegistry

LIMIT = 40
_OWN = {*BUILT_IN, *OURS, *COSH, *EVIDENCE}


class DeclaredTools:
    """The declared part of a registry (hosts.Catalogue). Our own tools come first; other people's fill what is left."""

    def __init__(self, registry: ToolRegistry, limit: int = LIMIT) -> None:
        self._registry = registry
        self._limit = limit
        self._asked: set[str] = set()
        self._made: tuple[tuple[ToolDefinition, ...], frozenset[str], tuple[ToolDefinition, ...]] | None = None

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the next request declares: the same tuple object as long as nothing changed."""
        every, asked = self._registry.definitions(), frozenset(self._asked)
        if self._made is not None and self._made[0] is every and self._made[1] == asked:
            return self._made[2]
        first = sorted(every, key=lambda tool: (tool.name not in _OWN, tool.name))[: self._limit]
        names = {tool.name for tool in first} | asked
        declared = every if len(every) <= self._limit else tuple(tool for tool in every if tool.name in names)
        self._made = (every, asked, declared)
        return declared

    def entries(self) -> Sequence[tuple[ToolDefinition, tuple[str, ...], bool]]:
        """Definition, keywords and whether it is deferred, of every tool."""
        declared = {tool.name for tool in self.definitions()}
        return [(tool.to_definition(), tool.keywords, tool.name not in declared) for tool in self._registry.tools()]

    def declare(self, names: Sequence[str]) -> None:
        """Declare these too from the next request on."""
        self._asked.update(names)
